// The record service: one small HTTP server whose POST inserts a record. README.md says what it is for.
import { createAnswers } from './answers.js'
import { createBacklog } from './backlog.js'
import { readConfig } from './config.js'
import { openRecords } from './database.js'
import { createServerOf } from './frameworks/index.js'
import { createOutcomes } from './outcomes.js'
import { createStrategy } from './strategies/index.js'

/** Connections that are open so long after the last record was stored are cut. */
const LAST_ANSWERS_MS = 5_000
/** A connection becomes idle once its last answer is sent. */
const IDLE_EVERY_MS = 20

const config = readConfig()
const { client, records } = await openRecords(config)
const strategy = createStrategy(config.strategy, { records, ...config })
const backlog = createBacklog({ maxRecords: config.backlogMax, maxBytes: config.backlogMaxBytes })
const answers = createAnswers({ strategy, backlog, outcomes: createOutcomes() })
const server = await createServerOf(config.framework, answers)

// Before the framework's own listener: a kept connection would hold up the end.
server.prependListener('request', (_, response) => {
  if (answers.isClosing()) response.setHeader('connection', 'close')
})

/** Stops accepting, stores what was accepted, exits. */
async function stop () {
  if (answers.isClosing()) return
  answers.close()
  const closed = new Promise((resolve) => server.close(resolve))
  setInterval(() => server.closeIdleConnections(), IDLE_EVERY_MS)
  strategy.flush()
  await backlog.empty()
  setTimeout(() => server.closeAllConnections(), LAST_ANSWERS_MS)
  await closed
  await client.close()
  process.exit(0)
}

process.on('SIGTERM', stop)
process.on('SIGINT', stop)
server.listen(config.port, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`)
})
