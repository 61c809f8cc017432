import './editor-links.js'
import { area, composing, writing } from './editor-form.js'
import { make } from './make.js'

/** The text is written in CodeMirror, except where somebody prefers a plain field (docs/decisions/0098). */
const LONG_CHARS = 500_000

// Storage may throw in private windows.
const remember = (/** @type {Function} */ use) => { try { return use() } catch {} }

const plain = make('input', { type: 'checkbox', checked: true })
const hint = make('span', { id: '_hint', hidden: true },
  t('In a list, Tab indents: to leave the text, press Escape before it.'))
const choice = make('p', { className: 'choice' }, make('label', {}, plain, t('Plain text field')), hint)

/** @type {{close: () => void} | null} */
let opened = null

async function open () {
  const { openCodeMirror } = await import('./editor-codemirror.js')
  // An input method still holds the last characters.
  while (composing()) await new Promise((resolve) => area.addEventListener('compositionend', resolve, { once: true }))
  if (!plain.checked && opened === null) opened = openCodeMirror(hint)
}

function close () {
  opened?.close()
  opened = null
}

async function show () {
  try {
    if (plain.checked) close()
    else await open()
  } catch {
    plain.checked = true
  }
  hint.hidden = opened === null
}

plain.onchange = () => {
  remember(() => { localStorage.plainField = plain.checked ? 'on' : 'off' })
  show()
}

if (document.readyState !== 'complete') {
  await new Promise((resolve) => addEventListener('load', resolve, { once: true }))
}
writing.after(choice)
plain.checked = remember(() => localStorage.plainField) === 'on' || area.value.length > LONG_CHARS
show()
