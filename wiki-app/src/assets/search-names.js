import { make } from './make.js'
import { createNameList } from './name-list.js'
import { settled } from './settled.js'

/** Offers titles while a search is written; Enter without a choice searches. */
const ASK_AFTER_MS = 200

const form = /** @type {HTMLFormElement} */ (document.querySelector('header form[role]'))
const field = /** @type {HTMLInputElement} */ (form.elements.namedItem('q'))
const news = make('span', { className: 'unseen', role: 'status' })
form.append(news)

const names = createNameList(() => field, {
  id: '_titles',
  holder: form,
  first: -1,
  // Tab leads to the button.
  keys: ['Enter'],
  choose: (name) => { location.assign(`/wiki/${encodeURIComponent(name).replaceAll('%2F', '/')}`) },
  say: (message) => { news.textContent = message }
})
field.autocomplete = 'off'

const offerSoon = settled(() => {
  const query = field.value.trim()
  if (query !== '') names.offer(query, (found) => field.value.trim() === query ? found : [])
}, ASK_AFTER_MS)
const offer = () => field.value.trim() === '' ? names.close() : offerSoon()
field.addEventListener('input', offer)
form.addEventListener('submit', () => {
  offerSoon.cancel()
  names.close()
})
if (field.value !== field.defaultValue) offer()
