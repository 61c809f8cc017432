import { make } from './make.js'

export const form = /** @type {HTMLFormElement} */ (document.querySelector('form.editor'))
/** The form's field. It has the whole text, whatever shows it, and its `input` event says so. */
export const area = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('content'))

/**
 * What the editor needs of a textarea, as a textarea does it; `caretBottom`: px below the top of `writing`.
 * @typedef {Pick<HTMLTextAreaElement, 'value' | 'selectionStart' | 'selectionEnd' | 'focus'> & {
 *   setSelectionRange: (from: number, to: number) => void,
 *   setRangeText: (markdown: string, from: number, to: number, select: 'end') => void,
 *   caretBottom?: () => number
 * }} Text
 */
/** Where somebody writes: the area, or CodeMirror in its place. @type {Text} */
export let text = area
/** What has the keys then. @type {HTMLElement} */
export let field = area

/** @param {Text} newText @param {HTMLElement} newField */
export function writeIn (newText, newField) {
  text = newText
  field = newField
}

export const SIGNED_OUT = t('You are signed out. Sign in on another tab, then go on here.')

/** A form sent back unsaved differs before anybody types. */
export const differs = () => 'unsaved' in form.dataset || area.value !== area.defaultValue

/** Holds what lies beside or over the text. */
export const writing = make('div', { className: 'writing' })
area.before(writing)
writing.append(area)

let isComposing = false
area.addEventListener('compositionstart', () => { isComposing = true })
area.addEventListener('compositionend', () => { isComposing = false })
export const composing = () => isComposing

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
  if (document.activeElement === area && document.execCommand(command, false, markdown)) return
  text.setRangeText(markdown, from, to, 'end')
  area.dispatchEvent(new Event('input'))
}
