import { Server } from 'node:net'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'

/** Shorter than the process takes to lose patience with its own end, see server.js. */
const DRAIN_MAX_MS = 8_000
/** Connections that a proxy keeps get so long to bring what it has sent on them already, or sends before it has heard. */
const LAST_REQUESTS_MS = 500

/**
 * Makes `close` wait for requests in flight, also for those that are still on their way, but for nothing else that clients keep open.
 * @param {import('fastify').FastifyInstance} app
 */
export function drainOnClose (app) {
  const { server } = app
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  let taken = 0
  server.on('connection', (socket) => {
    taken++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  /** Closing resets what the kernel has accepted and this process has not: in each turn of its event loop one connection is taken up. */
  async function takeUpWhatWaits () {
    const deadline = performance.now() + LAST_REQUESTS_MS
    let before
    do {
      before = taken
      await turn()
    } while (taken > before && performance.now() < deadline)
  }

  app.addHook('preClose', async () => {
    const timer = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS)
    await takeUpWhatWaits()
    // No new connections. The server's own `close` would also end those that look idle, and with them a request that has not been read yet,
    // which a proxy may not send again when it is a POST. From now on each answer says `Connection: close`.
    const ended = new Promise((resolve) => Server.prototype.close.call(server, resolve))
    if (sockets.size > 0) await sleep(LAST_REQUESTS_MS)
    // Right after the connections were looked at for what has come, and not before.
    await turn()
    // A connection whose last request is answered from now on would otherwise be kept for the next one.
    server.keepAliveTimeout = 1
    // Browsers open connections ahead of need; Node takes these for busy ones.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    server.closeIdleConnections()
    await ended
    clearTimeout(timer)
  })
}
