import { make } from './make.js'

export const form = /** @type {HTMLFormElement} */ (document.querySelector('form.editor'))
export const text = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('content'))

export const SIGNED_OUT = t('You are signed out. Sign in on another tab, then go on here.')

/** A form sent back unsaved differs before anybody types. */
export const differs = () => 'unsaved' in form.dataset || text.value !== text.defaultValue

/** Holds what lies beside or over the text. */
export const writing = make('div', { className: 'writing' })
text.before(writing)
writing.append(text)

const news = make('p', { className: 'status', role: 'status' })
writing.after(news)

/** @param {string} message @param {boolean} [bad] */
export function say (message, bad = false) {
  news.textContent = message
  news.classList.toggle('bad', bad)
}

/** Removes the last failure's message once it no longer holds. */
export const unsay = () => { if (news.classList.contains('bad')) say('') }

/** @param {string} markdown @param {number} [from] @param {number} [to]  what it replaces: else the selection */
export function insert (markdown, from = text.selectionStart, to = text.selectionEnd) {
  text.setSelectionRange(from, to)
  // Deprecated, but nothing else keeps the browser's undo.
  const command = markdown === '' ? 'delete' : 'insertText'
  if (document.activeElement === text && document.execCommand(command, false, markdown)) return
  text.setRangeText(markdown, from, to, 'end')
  text.dispatchEvent(new Event('input'))
}
