import { Server } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Closing may take 10 s: see STOP_MAX_MS of server.js. */
const DRAIN_MAX_MS = 8_000
/** For requests that a proxy sent before it noticed the shutdown. */
const LAST_REQUESTS_MS = 500

/**
 * `close` waits only for requests in flight, also on the network.
 * @param {import('fastify').FastifyInstance} app
 */
export function drainOnClose (app) {
  const { server } = app
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  /** Closing resets connections that only the kernel has accepted; each turn accepts one. */
  async function acceptPending () {
    const deadline = performance.now() + LAST_REQUESTS_MS
    let before
    do {
      before = accepted
      await nextTurn()
    } while (accepted > before && performance.now() < deadline)
  }

  app.addHook('preClose', async () => {
    const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS)
    await acceptPending()
    // The server's own `close` also closes connections that look idle, and with them an unread request, which a proxy
    // may not resend if it is a POST.
    const ended = new Promise((resolve) => Server.prototype.close.call(server, resolve))
    if (sockets.size > 0) await sleep(LAST_REQUESTS_MS)
    // `setImmediate` runs after the event loop has read all connections.
    await nextTurn()
    // Ends a connection whose last request is answered after this point.
    server.keepAliveTimeout = 1
    // Browsers open connections in advance; Node counts them as busy.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
    await ended
    clearTimeout(timer)
  })
}
