import { form, insert, say, SIGNED_OUT, writing } from './editor-form.js'
import { make } from './make.js'

const PICTURES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif']
const TOO_LARGE =
  t('The wiki did not answer, or the file is too large for what is between. Try again, or make it smaller.')

const author = /** @type {HTMLInputElement | null} */ (form.elements.namedItem('author'))

/** What the picture shows, until somebody says better. @param {File} file */
const nameOf = ({ name }) => name.replace(/\.\w+$/, '').replace(/[[\]\\\n]/g, ' ').trim()

/**
 * What is no picture becomes a link; the wiki decides, by what is in the file.
 * @param {File} file @returns {Promise<string>} its line
 */
function send (file) {
  const body = new FormData()
  // Fields come before the file.
  body.append('author', author?.value ?? '')
  if (PICTURES.includes(file.type)) body.append('alt', nameOf(file).slice(0, 200))
  body.append('file', file)
  const request = new XMLHttpRequest()
  request.open('POST', form.dataset.upload ?? '/edit/upload')
  request.setRequestHeader('accept', 'application/json')
  request.upload.onprogress = ({ loaded, total }) =>
    say(`Uploading ${file.name}: ${Math.floor(100 * loaded / total)} %`)
  return new Promise((resolve, reject) => {
    request.onloadend = () => {
      try {
        const { url, name, markdown, detail } = JSON.parse(request.responseText)
        if (url) resolve(name ? markdown : `![${nameOf(file)}](${url})`)
        else reject(new Error(request.status === 401 ? SIGNED_OUT : detail))
      } catch {
        reject(new Error(TOO_LARGE))
      }
    }
    request.send(body)
  })
}

let sending = Promise.resolve()
/** @param {File[]} files */
function upload (files) {
  for (const file of files) {
    sending = sending.then(async () => {
      try {
        insert(await send(file))
        say(`${file.name} ${t('is uploaded; its line is in the text.')}`)
      } catch (error) {
        say(`${file.name} ${t('was not uploaded.')} ${/** @type {Error} */ (error).message}`, true)
      }
    })
  }
}

/** @param {string} accept  types; '' for all */
function createPicker (accept) {
  const picker = make('input', { type: 'file', accept, multiple: true, hidden: true })
  picker.onchange = () => {
    upload([...picker.files ?? []])
    picker.value = ''
  }
  writing.append(picker)
  return () => picker.click()
}

/** Phones offer the camera for pictures. */
export const choosePicture = createPicker(PICTURES.join())
export const chooseFile = createPicker('')

writing.ondragover = (/** @type {DragEvent} */ event) => {
  if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
}
for (const [name, dataOf] of /** @type {[string, (event: any) => DataTransfer | null][]} */ ([
  ['drop', (event) => event.dataTransfer],
  ['paste', (event) => event.clipboardData]
])) {
  // Before CodeMirror, which would put a text file's words in.
  writing.addEventListener(name, (event) => {
    const data = dataOf(event)
    // Office programs copy text as a picture, too.
    if (!data || data.files.length === 0 || data.types.includes('text/plain')) return
    event.preventDefault()
    upload([...data.files])
  }, true)
}
