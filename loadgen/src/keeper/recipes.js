import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** @typedef {import('@stevec/harness/processes').Recipe} Recipe */

/** @param {string} directory  of a stack */
const fileOf = (directory) => path.join(directory, 'recipes.json')

/**
 * @param {string} directory  of a stack
 * @returns {Record<string, Recipe>} how each of its processes was started, by name; {} without a file
 */
export function readRecipes (directory) {
  try {
    return JSON.parse(readFileSync(fileOf(directory), 'utf8'))
  } catch {
    return {}
  }
}

/**
 * Only its owner may read the file: the wiki's environment holds passwords and tokens.
 * @param {string} directory
 * @param {{name: string, recipe?: Recipe}} started
 */
export function saveRecipe (directory, { name, recipe }) {
  if (recipe === undefined) return
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = fileOf(directory)
  const recipes = { ...readRecipes(directory), [name]: recipe }
  writeFileSync(`${file}.new`, JSON.stringify(recipes), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** @param {string} directory */
export function removeRecipes (directory) {
  rmSync(fileOf(directory), { force: true })
}
