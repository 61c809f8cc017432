/** Shorter than the process takes to lose patience with its own end, see server.js. */
const DRAIN_MAX_MS = 8_000

/**
 * Makes `close` wait for requests in flight, but for nothing else that clients keep open.
 * @param {import('fastify').FastifyInstance} app
 */
export function drainOnClose (app) {
  const { server } = app
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set()
  /** @type {NodeJS.Timeout} */
  let timer

  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  app.addHook('preClose', async () => {
    // A connection whose last request is answered from now on would otherwise be kept for the next one.
    server.keepAliveTimeout = 1
    // Browsers open connections ahead of need; Node takes these for busy ones.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    timer = setTimeout(() => server.closeAllConnections(), DRAIN_MAX_MS)
  })
  app.addHook('onClose', async () => clearTimeout(timer))
}
