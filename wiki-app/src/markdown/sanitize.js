import sanitizeHtml from 'sanitize-html'

const HEADINGS = ['h2', 'h3', 'h4', 'h5', 'h6']

/** Exactly what our renderer emits. https://github.com/apostrophecms/sanitize-html */
const ALLOWED = {
  allowedTags: [
    ...HEADINGS, 'p', 'br', 'hr', 'blockquote', 'pre', 'code', 'span', 'em', 'strong', 's', 'sup', 'a', 'img',
    'ul', 'ol', 'li', 'label', 'input', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'div', 'nav', 'details',
    'summary', 'section'
  ],
  allowedAttributes: {
    ...Object.fromEntries(HEADINGS.map((tag) => [tag, ['id']])),
    a: ['href', 'title', 'id', 'class', 'aria-label'],
    img: ['src', 'title', 'alt', 'loading', 'decoding'],
    ol: ['start'],
    li: ['id', 'class'],
    input: [{ name: 'type', values: ['checkbox'] }, 'disabled', 'checked'],
    details: ['open'],
    nav: ['class', 'aria-label'],
    section: ['class', 'aria-label'],
    ...Object.fromEntries(['code', 'span', 'div', 'th', 'td'].map((tag) => [tag, ['class']]))
  },
  allowedClasses: {
    a: ['anchor'],
    li: ['task'],
    nav: ['contents'],
    section: ['footnotes'],
    div: ['heading'],
    code: ['language-*'],
    span: ['hljs-*', 'language-*'],
    th: ['left', 'center', 'right'],
    td: ['left', 'center', 'right']
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
