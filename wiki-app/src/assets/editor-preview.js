import { area, form, say, SIGNED_OUT, unsay, writing } from './editor-form.js'
import { make } from './make.js'
import { settled } from './settled.js'

/** Previews count against the write limit. */
const PREVIEW_AFTER_MS = 1_000
const UNREACHABLE = t('the wiki cannot be reached. Your text is still here.')

const button = /** @type {HTMLButtonElement} */ (form.querySelector('button[formaction]'))
const article = make('article', { dir: 'auto' })
const preview = make('section', { className: 'preview', hidden: true, 'aria-label': t('Preview') }, article)
writing.append(preview)
button.setAttribute('aria-expanded', 'false')

let asking = new AbortController()
async function show () {
  asking.abort()
  asking = new AbortController()
  const { signal } = asking
  try {
    const answer = await fetch(button.formAction, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams(/** @type {any} */ (new FormData(form))),
      signal
    })
    const { html, detail } = await answer.json()
    if (!answer.ok) throw new Error(answer.status === 401 ? SIGNED_OUT : detail)
    // The page has this line break, too.
    article.innerHTML = `\n${html}`
    for (const box of article.querySelectorAll('pre, table, .math, math:not([display])')) {
      if (box.scrollWidth > box.clientWidth) box.setAttribute('tabindex', '0')
    }
    preview.classList.remove('old')
    unsay()
  } catch (error) {
    if (signal.aborted) return
    preview.classList.add('old')
    const unreachable = error instanceof TypeError || error instanceof SyntaxError
    say(`${t('No preview:')} ${unreachable ? UNREACHABLE : /** @type {Error} */ (error).message}`, true)
  }
}

button.onclick = (/** @type {Event} */ event) => {
  event.preventDefault()
  preview.hidden = !preview.hidden
  document.body.classList.toggle('previewing', !preview.hidden)
  button.setAttribute('aria-expanded', String(!preview.hidden))
  if (preview.hidden) asking.abort()
  else show()
}
const showSoon = settled(show, PREVIEW_AFTER_MS)
area.addEventListener('input', () => { if (!preview.hidden) showSoon() })
