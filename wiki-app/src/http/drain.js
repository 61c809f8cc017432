import { Server } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Below CLOSE_MAX_MS of server.js, after which the process exits anyway. */
const DRAIN_MAX_MS = 8_000
/** How long open connections may still deliver requests that a proxy sent before it noticed the shutdown. */
const LAST_REQUESTS_MS = 500

/**
 * Makes `close` wait only for requests in flight, also on the network.
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

  /** Closing the server resets connections that only the kernel has accepted. Each turn of the loop accepts one. */
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
    // Stops new connections only. The server's own `close` would also close connections that look idle, and with them a
    // request that is not read yet, which a proxy may not resend if it is a POST. From now on each response says
    // `Connection: close`.
    const ended = new Promise((resolve) => Server.prototype.close.call(server, resolve))
    if (sockets.size > 0) await sleep(LAST_REQUESTS_MS)
    // `setImmediate` continues right after the event loop has read all connections, so no arrived request is missed.
    await nextTurn()
    // Otherwise a connection whose last request is answered after this point would stay open for another one.
    server.keepAliveTimeout = 1
    // Browsers open connections in advance, and Node counts these as busy.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
    await ended
    clearTimeout(timer)
  })
}
