// The least that a Fastify response of a page's size can cost: the base of the wiki's speed. PORT and SIZE_BYTES come
// from the environment.
import Fastify from 'fastify'

const body = Buffer.alloc(Number(process.env.SIZE_BYTES), 'x')
const app = Fastify()
app.get('/*', async (_request, reply) => {
  reply.header('content-type', 'text/html; charset=utf-8')
  return body
})
process.on('SIGTERM', () => app.close())
await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
