import { pageName } from '../markdown/page-address.js'
import { nameOfFile, withoutExtension } from './file-names.js'
import { inTurns } from './in-turns.js'

/**
 * @typedef {{name?: string, title?: string}} Known  from the front matter of a file
 * @typedef {{path: string, known: Known}} PageFile
 */

/** The page of a folder, as MkDocs and GitHub call its file. */
const FOLDER_PAGES = ['index', 'readme']

/**
 * A name in the front matter counts most, then a plain path, a title that one file has alone, and the folder of its
 * index. Two files with one name: the second is left out.
 * @param {PageFile[]} files
 * @returns {Promise<Map<string, string>>} canonical name by path; without those that no page can have
 */
export async function namesOf (files) {
  /** @type {Map<string, string>} */
  const names = new Map()
  /** @type {Set<string>} */
  const taken = new Set()
  /** @param {PageFile} file @param {string | undefined} raw */
  const take = ({ path }, raw) => {
    const name = raw === undefined || names.has(path) ? null : pageName(raw)
    if (name === null || taken.has(name)) return
    names.set(path, name)
    taken.add(name)
  }
  const named = files.filter(({ known }) => known.name !== undefined)
  const others = files.filter(({ known }) => known.name === undefined)
  const titles = countsOf(others.map(({ known }) => known.title))

  for await (const file of inTurns(named)) take(file, file.known.name)
  for await (const file of inTurns(others)) {
    if (file.known.title === undefined && folderPageRank(file.path) === -1) take(file, nameOfFile(file.path))
  }
  for await (const file of inTurns(others)) {
    if (titles.get(file.known.title) === 1) take(file, file.known.title)
  }
  for (const rank of FOLDER_PAGES.keys()) {
    for await (const file of inTurns(others)) {
      if (folderPageRank(file.path) === rank) take(file, folderOf(file.path))
    }
  }
  for await (const file of inTurns(others)) take(file, nameOfFile(file.path))
  return names
}

/** @param {(string | undefined)[]} values */
function countsOf (values) {
  /** @type {Map<string | undefined, number>} */
  const counts = new Map()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** @param {string} path @returns {number} -1: an ordinary page */
const folderPageRank = (path) =>
  FOLDER_PAGES.indexOf(withoutExtension(path.slice(path.lastIndexOf('/') + 1)).toLowerCase())

/** @param {string} path @returns {string | undefined} name of its folder; undefined at the top */
const folderOf = (path) => path.includes('/') ? nameOfFile(`${path.slice(0, path.lastIndexOf('/'))}.md`) : undefined
