/** Previews count against the write limit. */
const PREVIEW_AFTER_MS = 1_000
const DRAFT_AFTER_MS = 500
const DRAFT_KEPT_MS = 30 * 86_400_000
const PICTURES = 'image/png,image/jpeg,image/webp,image/gif'

const form = /** @type {HTMLFormElement} */ (document.querySelector('form.editor'))
const text = /** @type {HTMLTextAreaElement} */ (form.elements.namedItem('content'))
const base = /** @type {HTMLInputElement} */ (form.elements.namedItem('base_revision'))
const author = /** @type {HTMLInputElement} */ (form.elements.namedItem('author'))
const previewButton = /** @type {HTMLButtonElement} */ (form.querySelector('button[formaction]'))
/** The form's address contains the page's name. */
const draftKey = `draft ${new URL(form.action).pathname}`

let leaving = false
/** A form sent back unsaved differs before anybody types. */
const differs = () => 'unsaved' in form.dataset || text.value !== text.defaultValue

/**
 * @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {object} properties
 * @param {(Node | string)[]} children
 */
function make (tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

/** @param {() => void} work @param {number} afterMs */
function settled (work, afterMs) {
  let timer = 0
  return () => {
    clearTimeout(timer)
    timer = setTimeout(work, afterMs)
  }
}

const news = make('p', { className: 'status' })
news.setAttribute('role', 'status')
const say = (/** @type {string} */ message, bad = false) => {
  news.textContent = message
  news.classList.toggle('bad', bad)
}

// Preview
const article = make('article', { dir: 'auto' })
const preview = make('section', { className: 'preview', hidden: true }, article)
preview.setAttribute('aria-label', 'Preview')
const writing = make('div', { className: 'writing' })
text.before(writing)
writing.append(text, preview)
writing.after(news)
previewButton.setAttribute('aria-expanded', 'false')

let asking = new AbortController()
async function showPreview () {
  asking.abort()
  asking = new AbortController()
  const { signal } = asking
  try {
    const answer = await fetch(previewButton.formAction, {
      method: 'POST',
      headers: { accept: 'application/json' },
      body: new URLSearchParams(/** @type {any} */ (new FormData(form))),
      signal
    })
    const { html, detail } = await answer.json()
    if (!answer.ok) throw new Error(detail)
    // The page has this line break, too.
    article.innerHTML = `\n${html}`
    for (const box of article.querySelectorAll('pre, table')) {
      if (box.scrollWidth > box.clientWidth) box.setAttribute('tabindex', '0')
    }
    preview.classList.remove('old')
    if (news.classList.contains('bad')) say('')
  } catch (error) {
    if (signal.aborted) return
    preview.classList.add('old')
    say(`No preview: ${error instanceof TypeError || error instanceof SyntaxError ? 'the wiki cannot be reached. Your text is still here.' : /** @type {Error} */ (error).message}`, true)
  }
}
const previewSoon = settled(showPreview, PREVIEW_AFTER_MS)

function togglePreview () {
  preview.hidden = !preview.hidden
  document.body.classList.toggle('previewing', !preview.hidden)
  previewButton.setAttribute('aria-expanded', String(!preview.hidden))
  if (preview.hidden) asking.abort()
  else showPreview()
}
previewButton.onclick = (/** @type {Event} */ event) => {
  event.preventDefault()
  togglePreview()
}

// Drafts
function keepDraft () {
  try {
    if (differs()) {
      localStorage.setItem(draftKey, JSON.stringify({ content: text.value, base: base.value, at: Date.now() }))
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
  if (draft === null || draft.content === text.value || differs()) return
  const offer = make(
    'p',
    { className: 'notice' },
    `A text that you did not save is still in this browser, of ${new Date(draft.at).toLocaleString('en')}. `
  )
  const choose = (/** @type {string} */ label, /** @type {() => void} */ work) => {
    const button = make('button', { type: 'button', textContent: label })
    button.onclick = () => {
      work()
      offer.remove()
      text.focus()
      text.dispatchEvent(new Event('input'))
    }
    return button
  }
  offer.setAttribute('role', 'status')
  offer.append(
    choose('Take it back', () => {
      text.value = draft.content
      // If somebody has saved since, the wiki shows both texts.
      base.value = draft.base
    }),
    ' ', choose('Forget it', () => {})
  )
  form.before(offer)
}
forgetOldDrafts()
if (differs()) keepDraft()
else offerDraft()

// Pictures
/** @param {string} markdown */
function insert (markdown) {
  text.setRangeText(markdown, text.selectionStart, text.selectionEnd, 'end')
  text.dispatchEvent(new Event('input'))
}

/** @param {File} file @returns {Promise<string>} the picture's address */
function send (file) {
  const body = new FormData()
  body.append('author', author.value)
  body.append('file', file)
  const request = new XMLHttpRequest()
  request.open('POST', '/edit/upload')
  request.setRequestHeader('accept', 'application/json')
  request.upload.onprogress = ({ loaded, total }) =>
    say(`Uploading ${file.name}: ${Math.floor(100 * loaded / total)} %`)
  return new Promise((resolve, reject) => {
    request.onloadend = () => {
      try {
        const { url, detail } = JSON.parse(request.responseText)
        if (url) resolve(url)
        else reject(new Error(detail))
      } catch {
        reject(new Error(
          'The wiki did not answer, or the picture is too large for what is between. Try again, or make it smaller.'
        ))
      }
    }
    request.send(body)
  })
}

let sending = Promise.resolve()
/** @param {FileList | File[]} files */
function upload (files) {
  for (const file of files) {
    sending = sending.then(async () => {
      try {
        const url = await send(file)
        insert(`![${file.name.replace(/\.\w+$/, '').replace(/[[\]\\\n]/g, ' ')}](${url})`)
        say(`${file.name} is uploaded; its line is in the text.`)
      } catch (error) {
        say(`${file.name} was not uploaded. ${/** @type {Error} */ (error).message}`, true)
      }
    })
  }
}

const picker = make('input', { type: 'file', accept: PICTURES, multiple: true, hidden: true })
picker.onchange = () => {
  upload([...picker.files ?? []])
  picker.value = ''
}
const uploadButton = make('button', { type: 'button', textContent: 'Upload a picture' })
uploadButton.onclick = () => picker.click()
previewButton.after(' ', uploadButton, picker)

text.ondragover = (/** @type {DragEvent} */ event) => {
  if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
}
for (const [name, dataOf] of /** @type {[string, (event: any) => DataTransfer | null][]} */ ([
  ['drop', (event) => event.dataTransfer],
  ['paste', (event) => event.clipboardData]
])) {
  text.addEventListener(name, (event) => {
    const data = dataOf(event)
    // Office programs copy text as a picture, too.
    if (!data || data.files.length === 0 || data.types.includes('text/plain')) return
    event.preventDefault()
    upload([...data.files])
  })
}

// Leaving and saving
text.addEventListener('input', settled(keepDraft, DRAFT_AFTER_MS))
text.addEventListener('input', () => { if (!preview.hidden) previewSoon() })
addEventListener('pagehide', keepDraft)
addEventListener('pageshow', () => { leaving = false })
addEventListener('beforeunload', (event) => { if (!leaving && differs()) event.preventDefault() })
form.addEventListener('submit', () => {
  leaving = true
  keepDraft()
  try { sessionStorage.saving = draftKey } catch {}
})
addEventListener('keydown', (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  if (event.key === 's') form.requestSubmit()
  else if (event.key === 'Enter') togglePreview()
  else return
  event.preventDefault()
})
