import * as codemirror from './codemirror.js'
import { area, say, writeIn, writing } from './editor-form.js'
import { markdown } from './editor-markdown.js'

const {
  defaultKeymap, EditorState, EditorView, history, historyKeymap, keymap, search, searchKeymap, StyleModule
} = codemirror

// Ctrl+Enter saves, and Escape leads out at the first time. Find has other keys, for several cursors at once.
const DEFAULTS = defaultKeymap.filter(({ key }) => key !== 'Escape')
/**
 * Behind Escape the next Tab leaves, until another key is pressed: CodeMirror's own two seconds are short for some
 * (https://www.w3.org/WAI/WCAG22/Understanding/timing-adjustable). @type {import('@codemirror/view').KeyBinding}
 */
const LEAVING = { key: 'Escape', run: (view) => { view.setTabFocusMode(Infinity); return true } }
const KEYS = [...DEFAULTS, ...historyKeymap, ...searchKeymap, LEAVING].filter(({ key }) =>
  !['Mod-Enter', 'Mod-d', 'Mod-Shift-l', 'Mod-Alt-g'].includes(key ?? ''))

/** What CodeMirror's own panel shows, and what it says to screen readers. */
const PHRASES = {
  Find: t('Find'),
  Replace: t('Replace'),
  next: t('next'),
  previous: t('previous'),
  'match case': t('match case'),
  regexp: t('regular expression'),
  'by word': t('whole words'),
  replace: t('replace'),
  'replace all': t('replace all'),
  close: t('close'),
  'current match': t('Found'),
  'on line': t('on line'),
  'replaced match on line $': t('replaced on line $'),
  'replaced $ matches': t('replaced $ times'),
  'Selection deleted': t('Selection deleted')
}

// The policy permits no <style>; a sheet that a script makes is none (https://www.w3.org/TR/cssom-1/).
const sheet = new CSSStyleSheet()
StyleModule.mount = (/** @type {Document | ShadowRoot} */ root, /** @type {any} */ modules) => {
  sheet.replaceSync([modules].flat().map((module) => module.getRules()).join('\n'))
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet)
}

/** What a program puts in is no event, as in a textarea. */
const PUT = 'put'

/** Keeps the form's field up to date. @param {import('@codemirror/view').ViewUpdate} update */
function keep ({ docChanged, state, transactions }) {
  if (!docChanged) return
  area.value = state.doc.toString()
  if (transactions.some((each) => each.docChanged && !each.isUserEvent(PUT))) area.dispatchEvent(new Event('input'))
}

/** @param {Record<string, string>} attributes */
const extensions = (attributes) => [
  markdown,
  history(),
  search({ top: true }),
  keymap.of(KEYS),
  EditorView.lineWrapping,
  EditorState.phrases.of(PHRASES),
  EditorView.updateListener.of(keep),
  EditorView.contentAttributes.of({
    dir: 'auto', spellcheck: 'true', autocorrect: 'on', autocapitalize: 'sentences', ...attributes
  })
]

/** @param {import('@codemirror/view').EditorView} view @returns {import('./editor-form.js').Text} */
function textOf (view) {
  const put = (/** @type {string} */ content, /** @type {number} */ from, /** @type {number} */ to) => {
    const insert = view.state.toText(content)
    const selection = { anchor: from + insert.length }
    view.dispatch({ changes: { from, to, insert }, selection, scrollIntoView: true, userEvent: PUT })
  }
  return {
    get value () { return area.value },
    set value (content) { put(content, 0, view.state.doc.length) },
    get selectionStart () { return view.state.selection.main.from },
    get selectionEnd () { return view.state.selection.main.to },
    setSelectionRange (from, to) {
      const [anchor, head] = [from, to].map((at) => Math.min(at, view.state.doc.length))
      view.dispatch({ selection: { anchor, head }, scrollIntoView: true })
    },
    setRangeText: put,
    focus: () => view.focus(),
    caretBottom () {
      const bottom = view.coordsAtPos(view.state.selection.main.head)?.bottom ?? Infinity
      return Math.max(0, Math.min(bottom - writing.getBoundingClientRect().top, view.dom.offsetHeight))
    }
  }
}

/** @param {HTMLElement} from @param {HTMLElement} to  gets the focus, if the other had it, and the id */
function exchange (from, to) {
  const { id } = from
  from.removeAttribute('id')
  to.id = id
  if (document.activeElement === from) to.focus({ preventScroll: true })
}

/**
 * Takes the textarea's place, with its text, selection, focus and scroll position.
 * @param {Element} hint  describes its keys
 */
export function openCodeMirror (hint) {
  const [label] = area.labels
  const { selectionStart, selectionEnd, scrollTop } = area
  label.id = '_label'
  const view = new EditorView({
    doc: area.value,
    selection: { anchor: selectionStart, head: selectionEnd },
    extensions: extensions({
      'aria-labelledby': label.id,
      'aria-describedby': hint.id,
      'aria-required': String(area.required),
      'aria-autocomplete': area.getAttribute('aria-autocomplete') ?? 'none',
      'aria-controls': area.getAttribute('aria-controls') ?? ''
    })
  })
  view.dom.style.height = `${area.offsetHeight}px`
  area.before(view.dom)
  label.removeAttribute('for')
  label.onclick = () => view.focus()
  // A hidden field cannot show what it lacks.
  area.oninvalid = (/** @type {Event} */ event) => {
    event.preventDefault()
    say(area.validationMessage, true)
    view.focus()
  }
  writeIn(textOf(view), view.contentDOM)
  exchange(area, view.contentDOM)
  area.hidden = true
  // Only then it knows the height of its lines.
  view.requestMeasure({ read: () => {}, write: () => { view.scrollDOM.scrollTop = scrollTop } })

  return {
    /** Puts the textarea back, in the same way. */
    close () {
      const { from, to } = view.state.selection.main
      const { scrollTop } = view.scrollDOM
      area.hidden = false
      area.oninvalid = label.onclick = null
      area.setSelectionRange(from, to)
      writeIn(area, area)
      exchange(view.contentDOM, area)
      label.htmlFor = area.id
      view.destroy()
      area.scrollTop = scrollTop
    }
  }
}
