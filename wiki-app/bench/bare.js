// The least that a Fastify answer of a page's size can cost; what the wiki's speed is a ratio to. PORT and SIZE_BYTES from the environment.
import Fastify from 'fastify'

const body = Buffer.alloc(Number(process.env.SIZE_BYTES), 'x')
const app = Fastify()
app.get('/*', async (_request, reply) => {
  reply.header('content-type', 'text/html; charset=utf-8')
  return body
})
process.on('SIGTERM', () => app.close())
process.stdout.write(`bare server listening on ${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })}\n`)
