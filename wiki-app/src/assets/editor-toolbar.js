import { area, field, insert, text, writing } from './editor-form.js'
import { chooseFile, choosePicture } from './editor-pictures.js'
import { make } from './make.js'

const TABLE = '| Column | Column |\n|--------|--------|\n| cell   | cell   |\n'

const selected = () => text.value.slice(text.selectionStart, text.selectionEnd)

/** @param {string} before @param {string} words  stays selected @param {string} after */
function put (before, words, after) {
  const from = text.selectionStart + before.length
  insert(before + words + after)
  text.setSelectionRange(from, from + words.length)
}

/** @param {string} mark @param {string} sample */
function surround (mark, sample) {
  // A double click may select the space behind a word; a mark after it would close nothing.
  const words = selected().trimEnd()
  text.setSelectionRange(text.selectionStart, text.selectionStart + words.length)
  put(mark, words || sample, mark)
}

/** Of all lines of the selection; takes it away where all have it. @param {string} mark */
function beginLines (mark) {
  const from = text.value.slice(0, text.selectionStart).lastIndexOf('\n') + 1
  const end = text.value.indexOf('\n', text.selectionEnd)
  const to = end === -1 ? text.value.length : end
  const lines = text.value.slice(from, to).split('\n')
  const marked = lines.every((line) => line.startsWith(mark))
  const changed = lines.map((line) => marked ? line.slice(mark.length) : mark + line).join('\n')
  insert(changed, from, to)
}

/** On lines of its own. @param {string} block */
function putBlock (block) {
  const before = text.value.slice(0, text.selectionStart)
  const gap = before === '' || before.endsWith('\n\n') ? '' : before.endsWith('\n') ? '\n' : '\n\n'
  insert(gap + block, text.selectionEnd, text.selectionEnd)
}

function link () {
  const words = selected()
  if (/^https?:\/\/\S+$/.test(words)) return put('[', 'words', `](${words})`)
  put('[[', words, ']]')
  if (words !== '') return
  // Offers the pages.
  area.dispatchEvent(new Event('input'))
}

const code = () => selected().includes('\n')
  ? put('```\n', selected().replace(/\n$/, ''), '\n```\n')
  : surround('`', 'code')

/** Label, work, key. @type {[string, () => void, string?][]} */
const TOOLS = [
  [t('Bold'), () => surround('**', t('bold')), 'b'],
  [t('Italic'), () => surround('*', t('italic')), 'i'],
  [t('Link'), link, 'k'],
  [t('Picture'), choosePicture],
  [t('File'), chooseFile],
  [t('Heading'), () => beginLines('## ')],
  [t('List'), () => beginLines('- ')],
  [t('Code'), code],
  [t('Table'), () => putBlock(TABLE)]
]

const buttons = TOOLS.map(([label, work, key], index) => {
  const button = make('button', { type: 'button', textContent: label, tabIndex: index === 0 ? 0 : -1 })
  if (key) {
    button.title = `Ctrl+${key.toUpperCase()}`
    button.setAttribute('aria-keyshortcuts', `Control+${key.toUpperCase()}`)
  }
  button.onclick = () => {
    text.focus()
    work()
  }
  return button
})
const bar = make('div', {
  className: 'toolbar', role: 'toolbar', 'aria-label': t('Formatting'), 'aria-controls': area.id
}, ...buttons)
writing.before(bar)

// One stop for the Tab key (https://www.w3.org/WAI/ARIA/apg/patterns/toolbar/).
const MOVES = /** @type {Record<string, (index: number) => number>} */ ({
  ArrowRight: (index) => (index + 1) % buttons.length,
  ArrowLeft: (index) => (index + buttons.length - 1) % buttons.length,
  Home: () => 0,
  End: () => buttons.length - 1
})
bar.onkeydown = (/** @type {KeyboardEvent} */ event) => {
  const index = buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target))
  const move = MOVES[event.key]
  if (index === -1 || move === undefined || event.ctrlKey || event.altKey || event.metaKey) return
  event.preventDefault()
  buttons[move(index)].focus()
}
bar.addEventListener('focusin', ({ target }) => {
  for (const button of buttons) button.tabIndex = button === target ? 0 : -1
})

// Before CodeMirror, which has other work for some of these keys.
writing.addEventListener('keydown', (event) => {
  if (event.target !== field || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
  const tool = TOOLS.find(([, , key]) => key === event.key)
  if (tool === undefined) return
  event.preventDefault()
  tool[1]()
}, true)
