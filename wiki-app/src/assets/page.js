/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3_600], ['minute', 60]]
const KEYS = { '/': 'Search', e: 'Edit', h: 'History', n: 'New page', '?': 'These keys' }
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

function showTimes () {
  for (const time of document.querySelectorAll('time')) {
    const seconds = (Date.parse(time.dateTime) - Date.now()) / 1000
    const [unit, length] = UNITS.find(([, least]) => -seconds >= least) ?? UNITS[4]
    time.title ||= time.textContent ?? ''
    time.textContent = relative.format(Math.min(0, Math.trunc(seconds / length)), unit)
  }
}
showTimes()
setInterval(showTimes, 60_000)

// Storage may throw in private windows.
const remember = (/** @type {Function} */ use) => { try { return use() } catch {} }

// The editor keeps a draft until `?saved` confirms the save.
remember(() => {
  if (!new URLSearchParams(location.search).has('saved') || !sessionStorage.saving) return
  localStorage.removeItem(sessionStorage.saving)
  sessionStorage.removeItem('saving')
})

const dialog = document.createElement('dialog')
dialog.ariaLabel = 'Keys'
dialog.innerHTML = `<h2>Keys</h2><dl>${Object.entries(KEYS).map(([key, what]) => `<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`).join('')}</dl>
<form method="dialog"><label><input type="checkbox"> Use these keys</label><button>Close</button></form>`
const used = /** @type {HTMLInputElement} */ (dialog.querySelector('input'))
used.checked = remember(() => localStorage.keys) !== 'off'
used.onchange = () => remember(() => { localStorage.keys = used.checked ? 'on' : 'off' })
const help = document.createElement('button')
help.textContent = '?'
help.ariaLabel = help.title = 'Keys'
help.dataset.key = '?'
help.onclick = () => dialog.showModal()
document.querySelector('header nav')?.append(help)
document.body.append(dialog)

addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event
  if (!used.checked || !Object.hasOwn(KEYS, key) || ctrlKey || altKey || metaKey || event.isComposing || dialog.open) {
    return
  }
  if (/** @type {Element} */ (target).closest?.('input, textarea, select, [contenteditable]')) return
  const element = /** @type {HTMLElement?} */ (document.querySelector(`[data-key="${key}"]`))
  if (!element) return
  event.preventDefault()
  if (element.matches('input')) element.focus()
  else element.click()
})

for (const box of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('article pre, article table'))) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
  if (!navigator.clipboard || box.tagName === 'TABLE') continue
  const copy = document.createElement('button')
  copy.className = 'copy'
  copy.textContent = 'Copy'
  copy.onclick = async () => {
    await navigator.clipboard.writeText(box.innerText)
    copy.textContent = 'Copied'
  }
  box.before(copy)
}
