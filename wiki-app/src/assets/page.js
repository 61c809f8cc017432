/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [['year', 31_557_600], ['month', 2_629_800], ['day', 86_400], ['hour', 3_600], ['minute', 60]]
const KEYS = '/ehn?'
const relative = new Intl.RelativeTimeFormat(t('en'), { numeric: 'auto' })

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

const saved = new URLSearchParams(location.search).get('saved')
if (saved !== null) {
  // The editor keeps a draft until `?saved` confirms the save.
  remember(() => {
    if (!sessionStorage.saving) return
    localStorage.removeItem(sessionStorage.saving)
    sessionStorage.removeItem('saving')
  })
  forgetSaved().catch(() => {})
}

/**
 * The notice of a save is for this once: not after a reload, and in no link that is copied. But while a cache has the
 * previous text at the page's own address, only this one shows what was saved.
 */
async function forgetSaved () {
  const answer = await fetch(location.pathname, { cache: 'reload' })
  // Read to its end, so that the browser's own copy is the new one.
  await answer.blob()
  if (Number(answer.headers.get('page-revision')) < Number(saved)) return
  window.history.replaceState(null, '', location.pathname + location.hash)
}

// Pages are the same for everybody: the browser remembers who is signed in, to show it. The wiki never asks for it.
const badge = /** @type {HTMLElement?} */ (document.querySelector('header .person'))
const badgeLink = badge?.querySelector('a')

function rememberPerson () {
  if (badgeLink?.dataset.role) {
    localStorage.person = JSON.stringify({ name: badgeLink.textContent, role: badgeLink.dataset.role })
  } else if (document.querySelector('form[action="/edit/sign-in"]')) localStorage.removeItem('person')
}

function showPerson () {
  if (!badge || !badgeLink) return
  const { name, role } = remember(() => JSON.parse(localStorage.person)) ?? {}
  const known = typeof name === 'string' && name !== ''
  badgeLink.textContent = known ? name : t('Sign in')
  if (known) badgeLink.title = t('You are signed in')
  else badgeLink.removeAttribute('title')
  for (const form of badge.querySelectorAll('form')) form.hidden = !known
  document.documentElement.classList.toggle('reader', known && role === 'reader')
}
remember(rememberPerson)
showPerson()
// Another tab, or a page from the browser's back-forward cache.
addEventListener('storage', showPerson)
addEventListener('pageshow', showPerson)
addEventListener('submit', ({ target }) => {
  if (/** @type {HTMLFormElement} */ (target).matches('[action="/edit/sign-out"]')) {
    remember(() => localStorage.removeItem('person'))
  }
})

const onward = /** @type {HTMLAnchorElement?} */ (document.querySelector('a[data-onward]'))
if (onward) location.replace(onward.href)

const help = document.createElement('button')
help.textContent = '?'
help.ariaLabel = help.title = t('Keys')
help.dataset.key = '?'
help.onclick = () => import('./keys.js').then(({ showKeys }) => showKeys())
document.querySelector('header .ways')?.append(help)

addEventListener('keydown', (event) => {
  const { key, target, ctrlKey, altKey, metaKey } = event
  if (!KEYS.includes(key) || ctrlKey || altKey || metaKey || event.isComposing) return
  if (remember(() => localStorage.keys) === 'off' || document.querySelector('dialog[open]')) return
  if (/** @type {Element} */ (target).closest?.('input, textarea, select, [contenteditable]')) return
  const element = /** @type {HTMLElement?} */ (document.querySelector(`[data-key="${key}"]`))
  if (!element || element.offsetParent === null) return
  event.preventDefault()
  if (element.matches('input')) element.focus()
  else element.click()
})

const wide = document.querySelectorAll('article :is(pre,table,.math,.diagram,math:not([display]))')
for (const box of /** @type {NodeListOf<HTMLElement>} */ (wide)) {
  if (box.scrollWidth > box.clientWidth) box.tabIndex = 0
  if (!navigator.clipboard || box.tagName !== 'PRE') continue
  const copy = document.createElement('button')
  copy.className = 'copy'
  copy.textContent = t('Copy')
  copy.onclick = async () => {
    await navigator.clipboard.writeText(box.innerText)
    copy.textContent = t('Copied')
  }
  // Within the block it would scroll away.
  const holder = document.createElement('div')
  holder.className = 'holder'
  box.replaceWith(holder)
  holder.append(copy, box)
}

// A menu closes as menus do.
for (const menu of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll('details.more'))) {
  addEventListener('click', ({ target }) => { if (!menu.contains(/** @type {Node} */ (target))) menu.open = false })
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !menu.open) return
    menu.open = false
    menu.querySelector('summary')?.focus()
  })
}

if (document.querySelector('article [data-task]')) import('./tasks.js')
if (document.querySelector('.above ~ article, article ~ .subpages')) import('./tree.js')

document.querySelector('header form[role] input')
  ?.addEventListener('focus', () => import('./search-names.js'), { once: true })

const { offline } = document.documentElement.dataset
if (offline) navigator.serviceWorker?.register(offline, { updateViaCache: 'all' }).catch(() => {})
