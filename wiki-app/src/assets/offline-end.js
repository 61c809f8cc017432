// In place of the worker where pages are not kept: it removes what a worker before it has kept, and itself.
const ending = /** @type {any} */ (globalThis)
ending.addEventListener('install', () => ending.skipWaiting())
ending.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(end()))

async function end () {
  for (const name of await caches.keys()) if (name.startsWith('stevec-')) await caches.delete(name)
  await ending.registration.unregister()
}
