import { make } from './make.js'

/** The pages around this one: in the margin of a wide window, else folded away, and fetched when it is opened. */
const STYLE = `
.above:has(+ .tree), .tree, .tree details { display: inline-block; max-width: 100%; vertical-align: top; }
.tree { margin-bottom: .3rem; font-size: .9rem; }
.tree details { margin: 0; font-size: 1em; }
.tree ul { margin: 0; padding-inline-start: 1.1rem; list-style: none; }
.tree summary + ul { margin-top: .3rem; padding: 0; }
.tree li { padding: .1rem 0; overflow-wrap: anywhere; }
.tree [aria-current] { color: inherit; font-weight: 700; text-decoration: none; }
.tree p { margin: .3rem 0 0; }
@media screen and (min-width: 75rem) {
  .above:has(+ .tree) { display: block; }
  .tree { position: fixed; top: 5rem; inset-inline-end: calc(50% + 24rem); overflow: auto; width: calc(50% - 25rem);
    max-width: 17rem; max-height: calc(100vh - 6rem); }
}
@media print { .tree { display: none; } }
`

const main = /** @type {HTMLElement} */ (document.querySelector('main'))
const trail = main.querySelector('.above')
/** To the list of the pages beside this one. @type {HTMLAnchorElement | null | undefined} */
const nearby = trail?.querySelector('[rel]')
const title = /** @type {HTMLElement} */ (main.querySelector('h1')).innerText
// At `/` the address does not say which page it is.
const history = /** @type {HTMLAnchorElement} */ (main.querySelector('[data-key="h"]'))
const own = (history.getAttribute('href') ?? '').replace('/history/', '/wiki/')
const wide = matchMedia('(min-width: 75rem)')

const below = main.querySelector(':scope > .subpages')
const label = t('Pages nearby')
const details = make('details', {}, make('summary', { textContent: label }))

function show () {
  details.open = wide.matches
}

/** The list of a page or of its tree, with the link to all that it leaves out. @param {Element | null} subpages */
const listOf = (subpages) => [...subpages?.querySelectorAll('ul, p') ?? []].map((part) => {
  const copy = /** @type {HTMLElement} */ (document.importNode(part, true))
  copy.className = ''
  return copy
})

/** @param {HTMLElement[]} beside  the list of the pages beside this one, and what follows it */
function around ([list = make('ul', {}), ...more]) {
  let link = [...list.querySelectorAll('a')].find((each) => each.getAttribute('href') === own)
  if (link === undefined) {
    link = make('a', { href: own, textContent: title.slice(title.lastIndexOf('/') + 1), dir: 'auto' })
    list.append(make('li', {}, link))
  }
  link.setAttribute('aria-current', 'page')
  link.after(...listOf(below))
  /** @type {HTMLElement[]} */
  let inner = [list, ...more]
  for (const each of [...trail?.querySelectorAll('a:not([rel])') ?? []].reverse()) {
    inner = [make('ul', {}, make('li', {}, each.cloneNode(true), ...inner))]
  }
  return inner
}

let isFetching = false

async function fill () {
  if (!details.open || isFetching || details.querySelector('ul')) return
  isFetching = true
  try {
    if (!nearby) return details.append(...around([]))
    const answer = await fetch(nearby.href)
    if (!answer.ok) return
    const found = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('.subpages')
    nearby.remove()
    details.append(...around(listOf(found)))
  } catch {
    // The link stays, and opening it again is another try.
  } finally {
    isFetching = false
  }
}

const sheet = new CSSStyleSheet()
sheet.replaceSync(STYLE)
document.adoptedStyleSheets.push(sheet)
const tree = make('nav', { className: 'tree', 'aria-label': label }, details)
if (trail) trail.after(tree)
else main.prepend(tree)
if (nearby) details.append(nearby)
details.addEventListener('toggle', fill)
wide.addEventListener('change', show)
show()
