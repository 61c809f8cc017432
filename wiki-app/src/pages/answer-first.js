/**
 * What is sent as it is: names and values of the headers in turn, and the body.
 * @typedef {{status: 200 | 304, head: string[], document?: Buffer}} Ready
 */

/**
 * Answers some requests before the framework has made anything of them, which takes it long beside what such an answer takes itself: neither routes nor hooks see them.
 * What is left to the framework after all, or fails, it gets as it came.
 * @param {import('fastify').FastifyInstance} app
 * @param {(request: IncomingMessage) => Ready | Promise<Ready | undefined> | undefined} find  undefined: the framework answers
 * @param {object} on
 * @param {(method: string) => void} on.begun  a request that is answered here, or looked for with a promise
 * @param {(request: IncomingMessage) => void} on.left  one that was begun, and that the framework gets after all
 */
export function answerFirst ({ server }, find, { begun, left }) {
  const [byFramework] = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const send = (/** @type {Ready} */ { status, head, document }) => { response.writeHead(status, head).end(document) }
    const leave = () => {
      left(request)
      byFramework.call(server, request, response)
    }
    // Once it does not listen any more each answer has to say that its connection ends, and the framework sees to that.
    const found = server.listening ? find(request) : undefined
    if (found === undefined) return byFramework.call(server, request, response)
    begun(String(request.method))
    if (found instanceof Promise) found.then((ready) => ready === undefined ? leave() : send(ready), leave)
    else send(found)
  })
}

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */
