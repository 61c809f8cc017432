// A wiki for author-lookup.js that asks the database for a signed-in author's name once more, as a wiki whose session
// has only a user's number must.
import { createSessions } from '../src/access/sessions.js'
import { buildApp } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { PEOPLE } from './people.js'

const config = readConfig()
const app = await buildApp(config, {}, {}, {
  makeSessions (connection, users) {
    const sessions = createSessions(connection, users)
    return {
      ...sessions,
      async find (token) {
        const user = await sessions.find(token)
        if (user === null) return null
        const person = await connection.collection(PEOPLE).findOne({ _id: /** @type {any} */ (user.name) })
        return person === null ? null : { ...user, name: person.name }
      }
    }
  }
})
process.once('SIGTERM', () => { app.close().then(() => process.exit(0)) })
await app.listen({ host: config.HOST, port: config.PORT })
