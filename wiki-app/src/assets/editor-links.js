import { insert, make, say, settled, text, writing } from './editor-form.js'

/** Offers names of pages behind `[[`. */
const ASK_AFTER_MS = 150
const OFFERED_MAX = 8
const NAME_MAX_CHARS = 200
/** Measuring where the cursor stands takes a layout of the whole text. */
const MEASURED_MAX_CHARS = 100_000

// A text field may not be a combobox (https://www.w3.org/TR/html-aria/#el-textarea), but it may have a list.
const list = make('ul', { id: '_names', className: 'names', role: 'listbox', 'aria-label': 'Pages', hidden: true })
writing.append(list)
text.setAttribute('aria-autocomplete', 'list')
text.setAttribute('aria-controls', list.id)

/** @returns {{query: string, from: number, to: number} | null} what stands between `[[` and the cursor */
function openLink () {
  const { selectionStart: to, selectionEnd, value } = text
  if (to !== selectionEnd) return null
  const from = value.lastIndexOf('[[', to - 1) + 2
  if (from < 2 || from > to || to - from > NAME_MAX_CHARS) return null
  const query = value.slice(from, to)
  return /[[\]|#\n]/.test(query) ? null : { query, from, to }
}

let asking = new AbortController()
async function offer () {
  const open = openLink()
  if (open === null) return close()
  asking.abort()
  asking = new AbortController()
  const { signal } = asking
  try {
    const query = new URLSearchParams({ q: open.query.trim(), limit: String(OFFERED_MAX) })
    const answer = await fetch(`/api/v1/pages?${query}`, { signal })
    const { items } = await answer.json()
    if (openLink()?.query === open.query) show(items.map((/** @type {{name: string}} */ { name }) => name))
  } catch {
    if (!signal.aborted) close()
  }
}

/** @param {string[]} names */
function show (names) {
  // A link in brackets cannot name the others.
  const offered = names.filter((name) => !/[[\]|#]/.test(name))
  if (offered.length === 0 || document.activeElement !== text) return close()
  list.replaceChildren(...offered.map((name, index) => {
    const option = make('li', { id: `_name-${index}`, role: 'option', dir: 'auto', textContent: name })
    // The text keeps the focus.
    option.onmousedown = (/** @type {Event} */ event) => event.preventDefault()
    option.onclick = () => choose(name)
    return option
  }))
  list.hidden = false
  list.style.top = `${caretBottom()}px`
  mark(0)
  say(`${offered.length === 1 ? 'One page' : `${offered.length} pages`}: choose with the arrow keys and Enter.`)
}

let marked = 0
/** @param {number} index */
function mark (index) {
  marked = index
  for (const [at, option] of [...list.children].entries()) option.setAttribute('aria-selected', String(at === index))
  list.children[index].scrollIntoView({ block: 'nearest' })
  text.setAttribute('aria-activedescendant', list.children[index].id)
}

function close () {
  asking.abort()
  if (list.hidden) return
  list.hidden = true
  list.replaceChildren()
  text.removeAttribute('aria-activedescendant')
  say('')
}

/** @param {string} name */
function choose (name) {
  const open = openLink()
  close()
  if (open === null) return
  const closed = text.value.startsWith(']]', open.to)
  insert(`${name}]]`, open.from, closed ? open.to + 2 : open.to)
  close()
}

/** @returns {number} px below the top of the text field */
function caretBottom () {
  if (text.value.length > MEASURED_MAX_CHARS) return text.offsetHeight
  const caret = make('span', { textContent: '\u200b' })
  const mirror = make('div', { className: 'mirror' }, text.value.slice(0, text.selectionEnd), caret)
  mirror.style.width = `${text.clientWidth}px`
  writing.append(mirror)
  const bottom = caret.offsetTop + caret.offsetHeight - text.scrollTop
  mirror.remove()
  return Math.max(0, Math.min(bottom, text.offsetHeight))
}

const MOVES = /** @type {Record<string, (count: number) => number>} */ ({
  ArrowDown: (count) => (marked + 1) % count,
  ArrowUp: (count) => (marked + count - 1) % count
})
text.addEventListener('keydown', (event) => {
  if (list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  if (event.key in MOVES) mark(MOVES[event.key](list.children.length))
  else if (event.key === 'Enter' || event.key === 'Tab') choose(list.children[marked].textContent ?? '')
  else if (event.key === 'Escape') close()
  else return
  event.preventDefault()
})
const offerSoon = settled(offer, ASK_AFTER_MS)
text.addEventListener('input', () => openLink() === null ? close() : offerSoon())
text.addEventListener('blur', close)
