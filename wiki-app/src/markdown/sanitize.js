import sanitizeHtml from 'sanitize-html'
import { CALLOUTS } from './callouts.js'
import { DIAGRAM_ATTRIBUTES } from './diagram-elements.js'
import { MATH_ATTRIBUTES, MATH_CLASSES } from './math-elements.js'

const HEADINGS = ['h2', 'h3', 'h4', 'h5', 'h6']

/** Exactly what our renderer emits. https://github.com/apostrophecms/sanitize-html */
const ALLOWED = {
  // The library searches this list for each tag and each text: frequent tags first.
  allowedTags: [
    'span', 'td', 'p', 'li', 'a', 'code', 'div', 'tr', 'em', 'strong', 'label', 'input', ...HEADINGS, 'ul', 'pre', 'th',
    'br', 'hr', 'blockquote', 's', 'img', 'ol', 'table', 'thead', 'tbody', 'nav', 'section', 'details', 'summary',
    'b', 'button', 'del', 'i', 'ins', 'kbd', 'mark', 'small', 'sub', 'sup', 'u',
    ...Object.keys(MATH_ATTRIBUTES), ...Object.keys(DIAGRAM_ATTRIBUTES)
  ],
  allowedAttributes: {
    ...Object.fromEntries(HEADINGS.map((tag) => [tag, ['id']])),
    a: ['href', { name: 'rel', multiple: true, values: ['nofollow', 'ugc'] }, 'title', 'id', 'class', 'aria-label'],
    img: ['src', 'title', 'alt', 'loading', 'decoding'],
    ol: ['start'],
    li: ['id', 'class'],
    input: [{ name: 'type', values: ['checkbox'] }, 'disabled', 'checked', 'data-task'],
    button: [{ name: 'form', values: ['_edit'] }, { name: 'name', values: ['section'] }, 'value', 'aria-label'],
    details: ['open'],
    nav: ['class', 'aria-label'],
    section: ['class', 'aria-label'],
    ...Object.fromEntries(['code', 'span', 'div', 'p', 'th', 'td'].map((tag) => [tag, ['class']])),
    ...MATH_ATTRIBUTES,
    ...DIAGRAM_ATTRIBUTES
  },
  allowedClasses: {
    a: ['anchor'],
    li: ['task'],
    nav: ['contents'],
    section: ['footnotes'],
    div: ['heading', 'text-title', 'math', 'diagram', 'callout', ...CALLOUTS.map((kind) => `callout-${kind}`)],
    p: ['callout-title'],
    code: ['language-*'],
    span: ['hljs-*', 'language-*', 'math'],
    th: ['left', 'center', 'right'],
    td: ['left', 'center', 'right'],
    ...MATH_CLASSES
  },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesByTag: { img: [] },
  allowProtocolRelative: false,
  // Drops what has lost its source or its `disabled`.
  exclusiveFilter: (/** @type {{tag: string, attribs: Record<string, string>}} */ { tag, attribs }) =>
    (tag === 'img' && attribs.src === undefined) || (tag === 'input' && attribs.disabled === undefined)
}

/** A second line of defence. @param {string} html */
export const sanitize = (html) => sanitizeHtml(html, ALLOWED)
