import { FOOT, head, numbers, page } from './mediawiki-dump.js'

const WORDS = ('garden bee flower honey wild soil water seed leaf root tree spring summer the a of and in with for ' +
  'hive queen worker pollen meadow fruit apple pear plum during between several species described northern').split(' ')
const DAY_S = 86_400
/** Characters of a sentence, of a section, and so on, follow from these. */
const SECTIONS = { from: 3, below: 6 }
const PARAGRAPHS = { from: 1, below: 3 }
const SENTENCES = { from: 3, below: 4 }

/**
 * Articles with headings, lists, links, templates, tables and notes, and their histories.
 * @param {object} options
 * @param {number} options.pages
 * @param {number} options.revisions  of each page
 * @param {boolean} [options.isNew]  every revision is another text; otherwise each changes a sentence or a paragraph of
 *   the one before it, or adds a section
 * @param {number} [options.seed]
 * @returns {Generator<string>} pieces of a dump, the same for the same options
 */
export function * generatedArticles ({ pages, revisions, isNew = false, seed = 1 }) {
  const write = createWriter(numbers(seed), pages)
  let id = 1_000_000
  yield head()
  for (let index = 0; index < pages; index++) {
    const history = []
    let article = write.article(index)
    for (let number = 0; number < revisions; number++) {
      if (number > 0) article = isNew ? write.article(index) : write.changed(article)
      const at = Date.UTC(2005, 0, 1) + (index * 7_919 + number * DAY_S) * 1000
      history.push({ id: id++, timestamp: new Date(at).toISOString(), text: textOf(article) })
    }
    yield page(titleOf(index), history)
  }
  yield FOOT
}

/** @typedef {{title: string, blocks: string[]}} Section */

/** @param {number} index */
const titleOf = (index) => `Article ${WORDS[index % WORDS.length]} ${index}`

/** @param {Section[]} article */
const textOf = (article) => article.map(({ title, blocks }) => `${title}${blocks.join('\n\n')}`).join('\n\n') + '\n'

/** @param {(below: number) => number} next @param {number} pages */
function createWriter (next, pages) {
  const some = (/** @type {{from: number, below: number}} */ { from, below }) => from + next(below)
  const words = (/** @type {number} */ count) =>
    Array.from({ length: count }, () => WORDS[next(WORDS.length)]).join(' ')
  const link = () => next(3) === 0 ? `[[${titleOf(next(pages))}|${words(2)}]]` : `[[${titleOf(next(pages))}]]`
  const note = () => [
    `<ref>{{cite web|url=https://a.example/${next(999)}|title=${words(4)}}}</ref>`,
    `<ref>${words(5)}, p. ${next(300)}.</ref>`,
    `<ref name="n${next(9_999)}">[https://b.example/${next(999)} ${words(3)}]</ref>`
  ][next(3)]

  const sentence = () => [
    words(4 + next(6)), next(3) === 0 ? link() : words(2), next(9) === 0 ? `'''${words(2)}'''` : words(3)
  ].join(' ') + '.' + (next(4) === 0 ? note() : '')

  const paragraph = () => Array.from({ length: some(SENTENCES) }, sentence).join(' ')

  function block () {
    const kind = next(8)
    if (kind === 0) return Array.from({ length: 4 }, () => `* ${link()}, ${words(6)}`).join('\n')
    if (kind === 1) {
      const rows = Array.from({ length: 4 }, () => `|-\n| ${words(2)} || ${link()} || ${next(1000)}`)
      return ['{| class="wikitable"', '! Name !! Page !! Number', ...rows, '|}'].join('\n')
    }
    return paragraph()
  }

  /** @returns {Section} */
  const section = () => ({
    title: next(3) === 0 ? `=== ${words(2)} ===\n\n` : `== ${words(2)} ==\n\n`,
    blocks: Array.from({ length: some(PARAGRAPHS) }, block)
  })

  return {
    /** @param {number} index @returns {Section[]} */
    article: (index) => [
      {
        title: '',
        blocks: [`{{Infobox\n| name = ${words(2)}\n| area = ${next(999)}\n}}`,
          `'''${titleOf(index)}''' is ${paragraph()}`]
      },
      ...Array.from({ length: some(SECTIONS) }, section),
      { title: '== References ==\n\n', blocks: ['{{reflist}}', `[[Category:${WORDS[index % 7]}]]`] }
    ],

    /** @param {Section[]} article @returns {Section[]} */
    changed (article) {
      const at = next(article.length - 1)
      if (next(12) === 0) return [...article.slice(0, at + 1), section(), ...article.slice(at + 1)]
      const { title, blocks } = article[at]
      const last = blocks.length - 1
      const edited = [...blocks.slice(0, last), next(3) === 0 ? `${blocks[last]}\n\n${block()}` : blocks[last]]
      if (edited[last] === blocks[last]) edited[last] = edited[last].replace(/(?<=[a-z]) (?=[a-z])/, ` ${words(1)} `)
      return [...article.slice(0, at), { title, blocks: edited }, ...article.slice(at + 1)]
    }
  }
}
