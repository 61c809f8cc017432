import { area, field, insert, say, text, writing } from './editor-form.js'
import { make } from './make.js'
import { createNameList } from './name-list.js'
import { settled } from './settled.js'

/** Offers names of pages behind `[[`. */
const ASK_AFTER_MS = 150
const NAME_MAX_CHARS = 200
/** Measuring where the cursor stands takes a layout of the whole text. */
const MEASURED_MAX_CHARS = 100_000

const names = createNameList(() => field, {
  id: '_names', holder: writing, first: 0, keys: ['Enter', 'Tab'], choose, say
})

/** @returns {{query: string, from: number, to: number} | null} what stands between `[[` and the cursor */
function openLink () {
  const { selectionStart: to, selectionEnd, value } = text
  if (to !== selectionEnd) return null
  const from = value.lastIndexOf('[[', to - 1) + 2
  if (from < 2 || from > to || to - from > NAME_MAX_CHARS) return null
  const query = value.slice(from, to)
  return /[[\]|#\n]/.test(query) ? null : { query, from, to }
}

async function offer () {
  const open = openLink()
  if (open === null) return names.close()
  await names.offer(open.query, (found) => {
    if (openLink()?.query !== open.query) return []
    names.list.style.top = `${text.caretBottom?.() ?? caretBottom()}px`
    // A link in brackets cannot name the others.
    return found.filter((name) => !/[[\]|#]/.test(name))
  })
}

/** @param {string} name */
function choose (name) {
  const open = openLink()
  if (open === null) return
  const closed = text.value.startsWith(']]', open.to)
  insert(`${name}]]`, open.from, closed ? open.to + 2 : open.to)
  names.close()
}

/** @returns {number} px below the top of the textarea */
function caretBottom () {
  if (area.value.length > MEASURED_MAX_CHARS) return area.offsetHeight
  const caret = make('span', { textContent: '\u200b' })
  const mirror = make('div', { className: 'mirror' }, area.value.slice(0, area.selectionEnd), caret)
  mirror.style.width = `${area.clientWidth}px`
  writing.append(mirror)
  const bottom = caret.offsetTop + caret.offsetHeight - area.scrollTop
  mirror.remove()
  return Math.max(0, Math.min(bottom, area.offsetHeight))
}

const offerSoon = settled(offer, ASK_AFTER_MS)
area.addEventListener('input', () => openLink() === null ? names.close() : offerSoon())
