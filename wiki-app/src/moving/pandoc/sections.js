/** @import {Converted} from '../content.js' */

/** A heading after an empty line. Without one before it, pandoc might take it for a part of a paragraph. */
const BEFORE_HEADING = /(?<=\n\n)(?=(={2,5})[^=\n](?:[^\n]*[^=\n])?\1[ \t]*(?:\n|$))/
/** A redirect, or what a later section may end or name: comments, notes, elements. */
const NOT_APART = /^\s*#|</
/** Limits hold for each of them. */
const SECTIONS_MAX = 200
const PAIRS = [['{{', '}}'], ['[[', ']]'], ['{|', '|}']]

/**
 * The sections of a text, which mean the same alone. Of the revisions of a page most sections are the same, so each is
 * converted once.
 * @param {string} wikitext @returns {string[]} that make the text; the text alone when it cannot be cut
 */
export function sectionsOf (wikitext) {
  if (NOT_APART.test(wikitext)) return [wikitext]
  // The group of the pattern is in the result, too.
  const sections = wikitext.split(BEFORE_HEADING).filter((_, index) => index % 2 === 0)
  return sections.length <= SECTIONS_MAX && sections.every(isWhole) ? sections : [wikitext]
}

/** Each pair is closed after it was opened. @param {string} section */
const isWhole = (section) => PAIRS.every(([open, close]) => {
  let depth = 0
  for (let at = 0; at < section.length; at++) {
    if (section.startsWith(open, at)) depth++
    else if (section.startsWith(close, at)) depth--
    if (depth < 0) return false
  }
  return depth === 0
})

/** @param {Converted[]} sections @returns {Converted} */
export function joined (sections) {
  const tags = sections.flatMap((section) => section.tags ?? [])
  const problem = sections.find((section) => section.problem !== undefined)?.problem
  return {
    content: sections.map(({ content }) => content).filter((content) => content.trim() !== '').join('\n'),
    ...tags.length > 0 && { tags },
    ...problem !== undefined && { problem }
  }
}
