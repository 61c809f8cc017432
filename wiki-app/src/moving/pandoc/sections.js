/** @import {Converted} from '../content.js' */

/**
 * What opens or closes something, and where a heading or a letter follows an empty line: without one before it, pandoc
 * might take it for a part of a paragraph.
 */
const TOKEN = new RegExp([
  /(?<comment><!--[^]*?-->)/,
  /<(?<slash>\/?)(?<tag>[a-z]+)(?<attributes>[^<>]*)>/,
  /(?<other><(?![\s\d=]))/,
  /(?<table>(?<!\{)\{\||\|\}(?!\}))/,
  /(?<run>\{{2,}|\}{2,}|\[\[|\]\])/,
  /(?<start>(?<=\n\n)(?=[a-z\u00C0-\u052F]|(?<signs>={2,5})[^=\n](?:[^\n]*[^=\n])?\k<signs>[ \t]*(?:\n|$)))/
].map(({ source }) => source).join('|'), 'gi')
/** A redirect; templates that stand for a sign. */
const NOT_APART = /^\s*#|\{\{[!=]\}\}/
const ATTRIBUTES = /^(?:\s+[\w:-]+(?:\s*=\s*(?:"[^"\n]*"|'[^'\n]*'|[^\s"'=`]+))?)*\s*\/?$/
const NAMES = [/name\s*=\s*"([^"]*)"/g, /name\s*=\s*'([^']*)'/g, /name\s*=\s*([^\s"'/]+)/g]
const NOTE = /<ref(?=[\s/>])([^>]*)>/gi
/** In which no markup counts, nor a comment. */
const VERBATIM = new Set(['nowiki', 'pre', 'source', 'syntaxhighlight', 'code', 'tt', 'math', 'chem', 'ce'])
const ELEMENTS = new Set([...VERBATIM, ...('ref references gallery poem b i u s del ins sub sup small big kbd em ' +
  'strong center div span blockquote').split(' ')])
const VOID = new Set(['br', 'hr'])
const MAY_END_AT_ONCE = new Set(['ref', 'references', 'nowiki'])
/** Limits of memory hold for each of them. */
const SECTIONS_MAX = 1_000
/** Markdown has more of them only when somebody means harm. */
const TAGS_MAX = 1_000

/** It cannot be cut for certain. */
class Uncertain extends Error {}

/**
 * The sections of a text, which mean the same alone: all that is opened in one is closed in it, and none uses a name
 * of another's notes. Of the revisions of a page most sections are the same, so each is converted once.
 * @param {string} wikitext @returns {string[]} that make the text; the text alone when it cannot be cut
 */
export function sectionsOf (wikitext) {
  if (NOT_APART.test(wikitext)) return [wikitext]
  try {
    const sections = withOwnNames(cut(wikitext))
    return sections.length <= SECTIONS_MAX ? sections : [wikitext]
  } catch (error) {
    if (error instanceof Uncertain) return [wikitext]
    throw error
  }
}

/** @param {string} wikitext @returns {string[]} @throws {Uncertain} */
function cut (wikitext) {
  const open = createOpen()
  const sections = []
  let start = 0
  for (const { index, groups = {} } of wikitext.matchAll(TOKEN)) {
    if (groups.start === undefined) open.take(groups)
    else if (open.isEmpty()) {
      sections.push(wikitext.slice(start, index))
      start = index
    }
  }
  // For pandoc, one that is never closed may be what an earlier end tag is of.
  if (open.hasElement()) throw new Uncertain()
  return [...sections, wikitext.slice(start)]
}

/** What is open at a place of a text; braces are closed as in brackets.lua. */
function createOpen () {
  /** @type {{kind: string, count: number}[]} */
  const stack = []
  /** @param {string} kind */
  const close = (kind) => { if (stack.pop()?.kind !== kind) throw new Uncertain() }
  const isIn = (/** @type {(kind: string) => boolean} */ is) => stack.some(({ kind }) => is(kind))

  /** @param {number} count */
  function closeBraces (count) {
    while (count >= 2) {
      const top = stack.at(-1)
      if (top?.kind !== '{') throw new Uncertain()
      const taken = Math.min(3, count, top.count)
      top.count -= taken
      count -= taken
      if (top.count < 2) stack.pop()
    }
  }

  /** @param {{[group: string]: string | undefined}} groups */
  function takeTag ({ slash, tag = '', attributes = '' }) {
    const name = tag.toLowerCase()
    if (!ATTRIBUTES.test(attributes) || !(ELEMENTS.has(name) || VOID.has(name))) throw new Uncertain()
    // The width of a table's column depends on the numbers of its notes.
    if (name === 'ref' && isIn((kind) => kind === '{|')) throw new Uncertain()
    const endsAtOnce = attributes.endsWith('/')
    if (slash === '/') close(`<${name}`)
    else if (!VOID.has(name) && !(endsAtOnce && MAY_END_AT_ONCE.has(name))) {
      if (endsAtOnce) throw new Uncertain()
      stack.push({ kind: `<${name}`, count: 1 })
    }
  }

  return {
    isEmpty: () => stack.length === 0,
    hasElement: () => isIn((kind) => kind.startsWith('<')),

    /** @param {{[group: string]: string | undefined}} groups  of TOKEN */
    take (groups) {
      const { comment, tag, other, table, run } = groups
      if (other !== undefined) throw new Uncertain()
      if (comment !== undefined) {
        if (/<ref/i.test(comment) || isIn((kind) => VERBATIM.has(kind.slice(1)))) throw new Uncertain()
      } else if (tag !== undefined) takeTag(groups)
      else if (table === '{|') stack.push({ kind: '{|', count: 1 })
      else if (table !== undefined) close('{|')
      else if (run === '[[') stack.push({ kind: '[[', count: 1 })
      else if (run === ']]') close('[[')
      else if (run?.startsWith('{')) stack.push({ kind: '{', count: run.length })
      else closeBraces(String(run).length)
    }
  }
}

/** Those from the first to the last use of a note's name are one. @param {string[]} sections */
function withOwnNames (sections) {
  /** @type {string[]} */
  const joinedOnes = []
  /** Where each name is in them. @type {Map<string, number>} */
  const places = new Map()
  for (const section of sections) {
    const names = namesIn(section)
    const place = Math.min(joinedOnes.length, ...new Set(names.map((name) => places.get(name) ?? Infinity)))
    const together = joinedOnes.splice(place)
    joinedOnes.push([...together, section].join(''))
    if (together.length > 0) for (const [name, at] of places) places.set(name, Math.min(at, place))
    for (const name of names) places.set(name, place)
  }
  return joinedOnes
}

/** Also those in comments and in code: convert.lua finds them there. @param {string} section */
const namesIn = (section) => [...section.matchAll(NOTE)].flatMap(([, attributes]) =>
  NAMES.flatMap((pattern) => [...attributes.matchAll(pattern)].map(([, name]) => name)))

/** @param {string} mark @returns {{definition: string, labels: RegExp}} of convert.lua's notes with that mark */
const notesOf = (mark) => ({ definition: `[^${mark}=`, labels: new RegExp(`\\[\\^${mark}[-=](\\d+)\\]`, 'g') })

/**
 * @param {Converted[]} sections @param {string} mark  that no text has, of the numbers of their notes
 * @returns {Converted} as they are in one text: its notes are numbered on, and are at its end
 */
export function joined (sections, mark) {
  const { definition, labels } = notesOf(mark)
  /** @type {string[]} */
  const bodies = []
  /** @type {string[]} */
  const notes = []
  let count = 0
  for (const { content } of sections) {
    const before = count
    const numbered = (/** @type {string} */ text) =>
      text.replace(labels, (_, number) => `[^${before + Number(number)}]`)
    const at = content.indexOf(definition)
    bodies.push(numbered(at === -1 ? content : content.slice(0, Math.max(0, at - 1))))
    if (at === -1) continue
    count += content.split(definition).length - 1
    notes.push(numbered(content.slice(at)))
  }
  const tags = sections.flatMap((section) => section.tags ?? []).slice(0, TAGS_MAX)
  return {
    content: [...bodies, ...notes].filter((content) => content.trim() !== '').join('\n'),
    ...tags.length > 0 && { tags }
  }
}
