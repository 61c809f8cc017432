import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const FOLDERS = [
  '.', 'docs', 'docs/decisions', 'docs/gallery', 'wiki-app', 'nginx', 'cdn', 'arm-image', 'deploy/containers',
  'deploy/chart'
]

const withoutCode = (/** @type {string} */ text) => text.replace(/^(`{3,}|~{3,})[^]*?^\1/gm, '')

/** As GitHub makes them from headings: https://docs.github.com/en/get-started/writing-on-github (section links). */
function anchorsOf (/** @type {string} */ text) {
  /** @type {Map<string, number>} */
  const times = new Map()
  return new Set([...withoutCode(text).matchAll(/^#{1,6} (.*)$/gm)].map(([, heading]) => {
    const slug = heading.toLowerCase().replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '').replaceAll(' ', '-')
    const before = times.get(slug) ?? 0
    times.set(slug, before + 1)
    return before === 0 ? slug : `${slug}-${before}`
  }))
}

/**
 * @param {string} file  where the text is @param {string} text
 * @returns {string[]} the links to files and headings that are not there, and the labels that nothing defines
 */
function brokenLinks (file, text) {
  const prose = withoutCode(text).replace(/`[^`\n]*`/g, '``')
  const defined = new Set([...prose.matchAll(/^\[([^\]]+)\]:/gm)].map(([, label]) => label))
  // A label alone, as of an issue: a letter and a number.
  const labels = [...prose.matchAll(/\]\[([^\]]+)\]|\[([A-Z]\d+)\](?![([:])/g)]
    .map(([, label, alone]) => label ?? alone)
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)].map(([, text, label]) => text ?? label)
  const local = targets.filter((target) => !/^[a-z]+:/.test(target))
  return [...labels.filter((label) => !defined.has(label)), ...local.filter((target) => !leads(file, text, target))]
}

/** @param {string} file @param {string} text @param {string} target */
function leads (file, text, target) {
  const [name, anchor] = target.split('#')
  const there = name === '' ? file : path.resolve(path.dirname(file), decodeURI(name))
  if (!existsSync(there)) return false
  if (!anchor) return true
  return statSync(there).isFile() && anchorsOf(there === file ? text : readFileSync(there, 'utf8')).has(anchor)
}

test('a link to a file or a heading that is not there is found, and so is a label without a definition', () => {
  const text = '# One `two`: three\n\n' +
    '[a](#one-two-three) [b](#four) [c](gone.md) [d](docs/saving.md#gone) [e](docs)\n' +
    '[f][g] [h][i] [J1] [J2]\n\n[g]: https://example.org\n[J1]: lost.md\n\n' +
    '`[k](code.md)`\n\n```\n# Four\n[l](code.md)\n```\n'
  const broken = ['i', 'J2', '#four', 'gone.md', 'docs/saving.md#gone', 'lost.md']
  assert.deepEqual(brokenLinks(path.join(ROOT, 'README.md'), text), broken)
})

for (const folder of FOLDERS) {
  test(`the links of the Markdown files in ${folder} lead somewhere`, () => {
    const files = readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith('.md'))
    assert.notEqual(files.length, 0)
    const broken = files.flatMap((name) => {
      const file = path.join(ROOT, folder, name)
      return brokenLinks(file, readFileSync(file, 'utf8')).map((target) => `${name}: ${target}`)
    })
    assert.deepEqual(broken, [])
  })
}
