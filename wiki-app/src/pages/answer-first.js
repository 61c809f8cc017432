/**
 * What is sent as it is: names and values of the headers in turn, and the body.
 * @typedef {{head: () => string[], document: () => Buffer}} Ready
 */

/**
 * Answers some requests before the framework has made anything of them, which takes it longer than such an answer does itself: neither routes nor hooks see them.
 * @param {import('fastify').FastifyInstance} app
 * @param {(request: import('node:http').IncomingMessage) => Ready | undefined} find  undefined: the framework answers
 */
export function answerFirst ({ server }, find) {
  const [byFramework] = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    // Once it does not listen any more each answer has to say that its connection ends, and the framework sees to that.
    const ready = server.listening ? find(request) : undefined
    if (ready === undefined) byFramework.call(server, request, response)
    else response.writeHead(200, ready.head()).end(ready.document())
  })
}
