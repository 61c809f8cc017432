import { area, differs, form, text } from './editor-form.js'
import { make } from './make.js'
import { settled } from './settled.js'

const DRAFT_AFTER_MS = 500
const DRAFT_KEPT_MS = 30 * 86_400_000

const base = /** @type {HTMLInputElement} */ (form.elements.namedItem('base_revision'))
const section = /** @type {HTMLInputElement | null} */ (form.elements.namedItem('section'))
/** The form's address contains the page's name. */
const pageKey = `draft ${new URL(form.action).pathname}`
/** A section has its number in the base revision, which is a part of the draft. */
const draftKey = section ? `${pageKey}#${section.value}` : pageKey

let leaving = false

function keepDraft () {
  try {
    if (differs()) {
      localStorage.setItem(draftKey, JSON.stringify({ content: area.value, base: base.value, at: Date.now() }))
    } else localStorage.removeItem(draftKey)
  } catch {
    // A browser may store nothing, or have no space left.
  }
}

/** @returns {{content: string, base: string, at: number} | null} */
function readDraft (key = draftKey) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null')
  } catch {
    return null
  }
}

function forgetOldDrafts () {
  try {
    for (const key of Object.keys(localStorage)) {
      if (key.startsWith('draft ') && !((readDraft(key)?.at ?? 0) > Date.now() - DRAFT_KEPT_MS)) {
        localStorage.removeItem(key)
      }
    }
  } catch {}
}

function offerDraft () {
  const draft = readDraft()
  if (draft === null || draft.content === area.value || differs()) return
  const offer = make(
    'p',
    { className: 'notice', role: 'status' },
    `${t('An unsaved text is in this browser:')} ${new Date(draft.at).toLocaleString(t('en'))} `
  )
  const choose = (/** @type {string} */ label, /** @type {() => void} */ work) => {
    const button = make('button', { type: 'button', textContent: label })
    button.onclick = () => {
      work()
      offer.remove()
      text.focus()
      area.dispatchEvent(new Event('input'))
    }
    return button
  }
  offer.append(
    choose(t('Use that text'), () => {
      text.value = draft.content
      // If somebody has saved since, the wiki merges both texts.
      base.value = draft.base
    }),
    ' ', choose(t('Forget it'), () => localStorage.removeItem(draftKey))
  )
  form.before(offer)
}
// A section that conflicts comes back within the whole text.
function forgetSection () {
  try {
    if (sessionStorage.saving?.startsWith(`${pageKey}#`)) localStorage.removeItem(sessionStorage.saving)
  } catch {}
}

forgetOldDrafts()
if ('unsaved' in form.dataset && !section) forgetSection()
if (differs()) keepDraft()
else offerDraft()

area.addEventListener('input', settled(keepDraft, DRAFT_AFTER_MS))
addEventListener('pagehide', keepDraft)
addEventListener('pageshow', () => { leaving = false })
addEventListener('beforeunload', (event) => { if (!leaving && differs()) event.preventDefault() })
form.addEventListener('submit', () => {
  leaving = true
  keepDraft()
  try { sessionStorage.saving = draftKey } catch {}
})
