// A service worker: pages that this browser has read can be read when the wiki cannot be reached. While the wiki
// answers, each request goes to it as without a worker, and nothing else does (docs/decisions/0095).
// https://www.w3.org/TR/service-workers/
const STYLE_URL = './style.css'
const PAGE_SCRIPT_URL = './page.js'
const LANGUAGE = 'en'

const KEPT = 'stevec-pages-1'
const PAGES_MAX = 100
const PAGE_MAX_BYTES = 500_000
/** nginx and the CDN say so of a wiki that is away, and a wiki of its database. */
const AWAY = new Set([502, 503, 504])
const GONE = new Set([404, 410])
/** A kept page needs no more of what the wiki sent. */
const HEADERS = ['content-type', 'content-security-policy', 'referrer-policy', 'x-content-type-options']
const MAIN = '<main id="_main" tabindex="-1">'
const KEPT_AT = 'kept-at'

const worker = /** @type {any} */ (globalThis)

// It has no state: a new one may take over at any time.
worker.addEventListener('install', () => worker.skipWaiting())
worker.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(begin()))

worker.addEventListener('fetch', (/** @type {any} */ event) => {
  const { request } = event
  const { pathname } = new URL(request.url)
  if (request.mode !== 'navigate' || request.method !== 'GET') return
  if (pathname === '/' || pathname.startsWith('/wiki/')) event.respondWith(answer(event))
})

/** The page that brought the worker comes from the browser's own cache, without a request. */
async function begin () {
  for (const name of await caches.keys()) if (name.startsWith('stevec-') && name !== KEPT) await caches.delete(name)
  await worker.clients.claim()
  for (const { url } of await worker.clients.matchAll({ type: 'window' })) {
    const response = await fetch(url, { mode: 'same-origin', cache: 'only-if-cached' }).catch(() => null)
    if (response !== null) await keep(url, response)
  }
}

/** @param {any} event */
async function answer (event) {
  const { request } = event
  const response = await fetch(request).catch(() => null)
  if (response !== null && !AWAY.has(response.status)) {
    event.waitUntil(keep(request.url, response.clone()))
    return response
  }
  // Browsers may refuse their store, such as in private windows.
  const kept = await caches.match(addressOf(request.url), { cacheName: KEPT }).catch(() => undefined)
  if (kept !== undefined) return shown(kept)
  return response ?? list(await caches.open(KEPT).catch(() => null))
}

/** Without the query and the fragment: the notice of a save is for once. @param {string} url */
const addressOf = (url) => new URL(new URL(url).pathname, url).href

/**
 * Only what every cache may keep. A page that is gone, or has another name, is forgotten.
 * @param {string} url @param {Response} response
 */
async function keep (url, response) {
  const cache = await caches.open(KEPT)
  const address = addressOf(url)
  if (GONE.has(response.status) || response.type === 'opaqueredirect') return cache.delete(address)
  const { pathname } = new URL(url)
  if (pathname !== '/' && !pathname.startsWith('/wiki/')) return
  const control = response.headers.get('cache-control') ?? ''
  const isHtml = /^text\/html/.test(response.headers.get('content-type') ?? '')
  const isPage = response.headers.has('page-revision')
  if (response.status !== 200 || !isPage || !isHtml || /no-store|private/.test(control)) return
  const body = await response.blob()
  if (body.size > PAGE_MAX_BYTES) return cache.delete(address)
  const headers = new Headers([[KEPT_AT, new Date().toISOString()]])
  for (const name of HEADERS) headers.set(name, response.headers.get(name) ?? '')
  // The one read last is behind all others.
  await cache.put(address, new Response(body, { headers }))
  const all = await cache.keys()
  for (const oldest of all.slice(0, Math.max(0, all.length - PAGES_MAX))) await cache.delete(oldest)
}

/** With a notice of its age. @param {Response} kept */
async function shown (kept) {
  const html = await kept.text()
  const at = html.indexOf(MAIN) + MAIN.length
  const asItWas = t('You see the page as it was {{time}}.').replace('{{time}}', () => timeOf(kept))
  const notice = `\n<p class="notice" role="status">${t('The wiki cannot be reached.')} ${asItWas}</p>`
  return new Response(at < MAIN.length ? html : html.slice(0, at) + notice + html.slice(at), { headers: kept.headers })
}

/** @param {Response} kept */
function timeOf (kept) {
  const at = kept.headers.get(KEPT_AT) ?? ''
  return `<time datetime="${escaped(at)}">${escaped(at.replace(/^(.{10})T(.{5}).*/, '$1 $2'))} UTC</time>`
}

/** Of a page that was never read here. @param {Cache | null} cache */
async function list (cache) {
  const keys = await cache?.keys() ?? []
  const items = await Promise.all([...keys].reverse().map(async ({ url }) => {
    const { pathname } = new URL(url)
    const kept = await cache?.match(url)
    const title = escaped(titleOf(pathname))
    return kept && `<li><a href="${escaped(pathname)}" dir="auto">${title}</a> ${timeOf(kept)}</li>`
  }))
  const policy = keys.length > 0 && (await cache?.match(keys[0]))?.headers.get('content-security-policy')
  return new Response(`<!doctype html>
<html lang="${LANGUAGE}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${t('The wiki cannot be reached')}</title>
<link rel="stylesheet" href="${STYLE_URL}">
<script type="module" src="${PAGE_SCRIPT_URL}"></script>
</head>
<body>
<main id="_main" tabindex="-1">
<h1>${t('The wiki cannot be reached')}</h1>
<p>${t('This page is not kept in this browser. Try again when the wiki is back.')}</p>
${items.length === 0 ? '' : `<h2>${t('Kept in this browser')}</h2>\n<ul>\n${items.join('\n')}\n</ul>`}
</main>
</body>
</html>
`, {
    status: 503,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy || "default-src 'none'; script-src 'self'; style-src 'self'"
    }
  })
}

/** @param {string} pathname */
function titleOf (pathname) {
  if (pathname === '/') return t('The home page')
  const name = pathname.slice('/wiki/'.length)
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** @param {string} text */
const escaped = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
