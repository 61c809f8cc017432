// Makes the secrets of the composition at its first start, and gives each service a folder with its own alone.
// What is in /secrets/admin stays; the other folders are written from it at each start.
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

const FOLDER = '/secrets'
const KEPT = `${FOLDER}/admin/secrets.json`
const MEMBERS = 'mongodb-1:27017,mongodb-2:27017,mongodb-3:27017'
/** The services that read it run as other users; a volume is seen by those alone that mount it. */
const READABLE = 0o444

const secrets = existsSync(KEPT) ? JSON.parse(readFileSync(KEPT, 'utf8')) : made()
write(KEPT, `${JSON.stringify(secrets, null, 2)}\n`, 0o400)
write(`${FOLDER}/mongodb/key`, `${secrets.mongodb_key}\n`)
write(`${FOLDER}/redis/redis.conf`, `requirepass ${secrets.redis_password}\n`)
write(`${FOLDER}/wiki/redis-url`, `redis://:${secrets.redis_password}@redis:6379\n`)
write(`${FOLDER}/wiki/mongodb-uri`,
  `mongodb://wiki:${secrets.mongodb_wiki_password}@${MEMBERS}/stevec?replicaSet=stevec\n`)

/** Base64url letters alone, so that they stand unquoted in addresses and files. */
function made () {
  const password = () => randomBytes(24).toString('base64url')
  return {
    mongodb_admin_password: password(),
    mongodb_wiki_password: password(),
    redis_password: password(),
    // Base64, 6 to 1024 characters. https://www.mongodb.com/docs/manual/core/security-internal-authentication/
    mongodb_key: randomBytes(384).toString('base64')
  }
}

/**
 * Replaces a file atomically: the services may read it meanwhile.
 * @param {string} file
 * @param {string} text
 * @param {number} [mode]
 */
function write (file, text, mode = READABLE) {
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text, { mode })
  renameSync(draft, file)
}
