import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const TESTS = new URL('.', import.meta.url)

/**
 * The texts of the files that a table means by a number, `random` or `decide`.
 * @param {string} name
 */
const textOf = (name) => readdirSync(TESTS)
  .filter((file) => file.startsWith(/^\d/.test(name) ? `edge-${name}-` : name === 'random' ? 'freshness-random' : name))
  .map((file) => readFileSync(new URL(file, TESTS), 'utf8').replaceAll("\\'", "'")).join('\n')

/** @param {string} document @returns {string[]} what its tables name and no test has */
function missingIn (document) {
  const rows = document.split('\n').filter((line) => /^\| \d/.test(line))
  return rows.flatMap((row) => {
    const [references] = row.split('|').slice(-2)
    return references.trim().split('; ').flatMap((reference) => {
      const [, name, words] = /^(\d\d|decide|random)\b ?(.*)$/.exec(reference) ?? []
      if (name === undefined) return []
      const text = textOf(name)
      const fragments = [...words.matchAll(/"([^"]+)"/g)].flatMap(([, quoted]) => quoted.split('…'))
      return [...text === '' ? [`no test ${name}`] : [],
        ...fragments.filter((fragment) => !text.includes(fragment.trim())).map((each) => `${name} "${each.trim()}"`)]
    })
  })
}

test('each test that STANDARD.md names exists', () => {
  const document = readFileSync(new URL('../STANDARD.md', TESTS), 'utf8')
  assert.deepEqual(missingIn(document), [])
  assert.ok(document.split('\n').filter((line) => /^\| \d/.test(line)).length > 90)
})

test('a name that no test has is found', () => {
  assert.deepEqual(missingIn('| 4 | a | both | | 01 "no such words"; 98; decide "… max-age alone" |'),
    ['01 "no such words"', 'no test 98'])
})
