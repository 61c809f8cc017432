const SHOWN_MAX_CHARS = 50_000

/** Kept on this page alone. */
let token = ''

for (const element of document.querySelectorAll('[data-script]')) element.removeAttribute('hidden')

const authorize = /** @type {HTMLFormElement} */ (document.querySelector('#_authorize'))
authorize.addEventListener('submit', (event) => {
  event.preventDefault()
  token = /** @type {HTMLInputElement} */ (authorize.querySelector('input')).value.trim()
  const said = /** @type {HTMLElement} */ (document.querySelector('#_authorized'))
  said.textContent = token === '' ? 'Calls carry no token.' : 'Calls carry this token until you leave the page.'
})

/** @param {HTMLFormElement} form @returns {string} */
function urlOf (form) {
  const query = new URLSearchParams()
  let path = String(form.dataset.url)
  /** @type {NodeListOf<HTMLInputElement>} */
  const inputs = form.querySelectorAll('[data-in]')
  for (const { name, value, dataset } of inputs) {
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (value !== '') query.set(name, value)
  }
  return query.size > 0 ? `${path}?${query}` : path
}

/** @param {HTMLFormElement} form @returns {RequestInit} */
function requestOf (form) {
  const { method, type } = form.dataset
  const body = /** @type {HTMLInputElement | HTMLTextAreaElement | null} */ (form.querySelector('[id$="-body"]'))
  const file = body !== null && 'files' in body ? body.files?.[0] : undefined
  return {
    method,
    headers: {
      ...(type && { 'content-type': file?.type || type }),
      ...(token !== '' && { authorization: `Bearer ${token}` })
    },
    body: file ?? body?.value,
    cache: 'no-store'
  }
}

/** @param {Response} response @returns {Promise<string>} */
async function textOf (response) {
  const type = response.headers.get('content-type') ?? ''
  if (!/json|^text\//.test(type)) return ''
  const text = await response.text()
  const pretty = /^application\/(?:problem\+)?json/.test(type) ? JSON.stringify(JSON.parse(text), null, 2) : text
  return pretty.length > SHOWN_MAX_CHARS ? `${pretty.slice(0, SHOWN_MAX_CHARS)}\n…` : pretty
}

/** @param {HTMLFormElement} form */
async function send (form) {
  const said = /** @type {HTMLElement} */ (form.querySelector('[role="status"]'))
  const shown = /** @type {HTMLElement} */ (form.querySelector('pre'))
  said.textContent = t('Sending …')
  shown.hidden = true
  try {
    const response = await fetch(urlOf(form), requestOf(form))
    const text = await textOf(response)
    said.textContent = `${response.status} ${response.statusText} ${response.headers.get('content-type') ?? ''}`
    shown.textContent = text
    shown.hidden = text === ''
  } catch {
    said.textContent = t('The wiki does not answer.')
  }
}

for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll('form[data-method]'))) {
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    send(form)
  })
}
