/** Dumps as MediaWiki writes them: https://www.mediawiki.org/xml/export-0.11.xsd */

/**
 * @typedef {object} DumpedRevision
 * @property {string | number} [id]
 * @property {string} [timestamp]
 * @property {string} [contributor]  XML
 * @property {string} [comment]  XML of the element; '' for none
 * @property {string} [model]
 * @property {string} [text]
 * @property {string} [textElement]  XML, instead of `text`
 */

/** @param {string} text */
export const escaped = (text) => text
  .replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const NAMESPACES = [
  [-2, 'Media'], [-1, 'Special'], [0, ''], [1, 'Talk'], [2, 'User'], [3, 'User talk'], [4, 'Gardens'],
  [6, 'File'], [8, 'MediaWiki'], [10, 'Template'], [14, 'Category'], [15, 'Category talk']
]

/** @param {{dbname?: string, namespaces?: (string | number)[][]}} [site] */
export const head = ({ dbname = 'gardenwiki', namespaces = NAMESPACES } = {}) => [
  '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">',
  '  <siteinfo>',
  '    <sitename>Gardens</sitename>',
  `    <dbname>${dbname}</dbname>`,
  '    <base>https://wiki.example/wiki/Main_Page</base>',
  '    <generator>MediaWiki 1.43.0</generator>',
  '    <case>first-letter</case>',
  '    <namespaces>',
  ...namespaces.map(([key, name]) => name === ''
    ? `      <namespace key="${key}" case="first-letter" />`
    : `      <namespace key="${key}" case="first-letter">${name}</namespace>`),
  '    </namespaces>',
  '  </siteinfo>',
  ''
].join('\n')

export const FOOT = '</mediawiki>\n'

let nextId = 1
/** By title, so that a newer dump has the same. @type {Map<string, number>} */
const pageIds = new Map()

/** @param {DumpedRevision} revision */
export function revision ({
  id = nextId++, timestamp = '2012-03-04T05:06:07Z', contributor = '<username>Ana</username><id>7</id>',
  comment = '<comment>tidied</comment>', model = 'wikitext', text = 'Text.', textElement
}) {
  const bytes = Buffer.byteLength(text)
  return [
    '    <revision>',
    `      <id>${id}</id>`,
    `      <timestamp>${timestamp}</timestamp>`,
    `      <contributor>${contributor}</contributor>`,
    `      ${comment}`,
    '      <origin>1</origin>',
    `      <model>${model}</model>`,
    '      <format>text/x-wiki</format>',
    `      ${textElement ?? `<text bytes="${bytes}" sha1="x" xml:space="preserve">${escaped(text)}</text>`}`,
    '      <sha1>x</sha1>',
    '    </revision>',
    ''
  ].join('\n')
}

/**
 * @param {string} title @param {DumpedRevision[]} revisions
 * @param {{id?: number, ns?: number, more?: string}} [options]
 */
export function page (title, revisions, { id = pageIds.get(title) ?? nextId++, ns = 0, more = '' } = {}) {
  pageIds.set(title, id)
  return `  <page>\n    <title>${escaped(title)}</title>\n    <ns>${ns}</ns>\n    <id>${id}</id>\n${more}` +
    `${revisions.map(revision).join('')}  </page>\n`
}

/** @param {string} title @param {string} target @param {{ns?: number}} [options] */
export const redirect = (title, target, { ns = 0 } = {}) =>
  page(title, [{ text: `#REDIRECT [[${target}]]` }], { ns, more: `    <redirect title="${escaped(target)}" />\n` })

/** @param {string[]} pages */
export const dump = (...pages) => head() + pages.join('') + FOOT

const WORDS = ('garden bee flower honey wild soil water seed leaf root tree spring summer the a of and in with for ' +
  'hive queen worker pollen meadow fruit apple pear plum').split(' ')

/** Numbers in a fixed order that looks like none: the same in each run. @param {number} seed */
export function numbers (seed) {
  let state = seed >>> 0
  return (/** @type {number} */ below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor(state / 2 ** 32 * below)
  }
}

/**
 * A wiki as wikis are: most pages are short and have few revisions, some are long and have many, all link to others,
 * some redirect. The same for the same arguments.
 * @param {{pages: number, revisionsPerPage?: number, seed?: number}} options
 * @returns {Generator<string>} pieces of a dump
 */
export function * generatedDump ({ pages, revisionsPerPage = 2, seed = 1 }) {
  const next = numbers(seed)
  const titleOf = (/** @type {number} */ index) => `${WORDS[index % WORDS.length]} ${index}`
    .replace(/^./, (letter) => letter.toUpperCase())
  let id = 1_000_000
  yield head()
  for (let index = 0; index < pages; index++) {
    if (index % 20 === 19) {
      yield redirect(titleOf(index), titleOf(index - 1))
      continue
    }
    const count = index % 50 === 0 ? 5 * revisionsPerPage : 1 + next(2 * revisionsPerPage - 1)
    const revisions = []
    let text = `'''${titleOf(index)}''' is a page.\n`
    for (let number = 0; number < count; number++) {
      text += `\n== Section ${number + 1} ==\n\n${sentences(next, index % 10 === 0 ? 60 : 12, pages, titleOf)}\n`
      revisions.push({
        id: id++,
        timestamp: new Date(Date.UTC(2005, 0, 1) + (index * 7_919 + number * 86_400) * 1000).toISOString(),
        contributor: next(5) === 0 ? '<ip>192.0.2.1</ip>' : `<username>Author ${next(40)}</username><id>1</id>`,
        comment: next(3) === 0 ? '' : `<comment>change ${number + 1}</comment>`,
        text: `${text}\n[[Category:${WORDS[index % 7]}]]\n`
      })
    }
    yield page(titleOf(index), revisions)
    if (index % 10 === 0) yield page(`Talk:${titleOf(index)}`, [{ id: id++, text: 'What about bees? ~~~~' }], { ns: 1 })
  }
  yield FOOT
}

/**
 * @param {(below: number) => number} next @param {number} count @param {number} pages
 * @param {(index: number) => string} titleOf
 */
function sentences (next, count, pages, titleOf) {
  return Array.from({ length: count }, () => {
    const words = Array.from({ length: 6 + next(9) }, () => WORDS[next(WORDS.length)])
    if (next(4) === 0) words.push(`[[${titleOf(next(pages))}]]`)
    if (next(8) === 0) words.push(`{{Cite|${next(1000)}}}`)
    return `${words.join(' ')}.`
  }).join(' ')
}
