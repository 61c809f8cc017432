import { SpanKind } from '@opentelemetry/api'
import { noteError } from './steps.js'

/** @import {CommandFailedEvent, CommandStartedEvent, MongoClient} from 'mongodb' */
/** @import {Active, Steps} from './steps.js' */

/** A connection sends one command at a time, so there are hardly more than connections. */
const RUNNING_MAX = 10_000

/**
 * A span for each command to the database, below the step that sends it. Without the command itself: it holds texts.
 * https://opentelemetry.io/docs/specs/semconv/database/mongodb/
 * @param {Steps} steps
 * @returns {(client: MongoClient) => void} watches a client that is made with `monitorCommands`
 */
export function createCommandSpans (steps) {
  /** By the driver's number of the request. @type {Map<number, Active>} */
  const running = new Map()

  /** @param {{requestId: number}} event @param {(span: import('@opentelemetry/api').Span) => void} [note] */
  function end ({ requestId }, note) {
    const command = running.get(requestId)
    if (command === undefined) return
    running.delete(requestId)
    note?.(command.span)
    command.span.end(command.now())
  }

  return (client) => {
    client.on('commandStarted', (event) => {
      const parent = steps.active()
      if (parent === undefined || running.size >= RUNNING_MAX) return
      const collection = collectionOf(event)
      const name = collection === undefined ? event.commandName : `${event.commandName} ${collection}`
      running.set(event.requestId, steps.below(name, parent, {
        kind: SpanKind.CLIENT,
        attributes: {
          'db.system.name': 'mongodb',
          'db.operation.name': event.commandName,
          'db.namespace': event.databaseName,
          ...collection !== undefined && { 'db.collection.name': collection },
          ...serverOf(event.address)
        }
      }))
    })
    client.on('commandSucceeded', (event) => end(event))
    client.on('commandFailed', (/** @type {CommandFailedEvent} */ event) => end(event, (span) => {
      const { code } = /** @type {{code?: number | string}} */ (event.failure)
      if (code !== undefined) span.setAttribute('db.response.status_code', String(code))
      noteError(span, event.failure)
    }))
  }
}

/** @param {CommandStartedEvent} event @returns {string | undefined} undefined: the command has none */
function collectionOf ({ command, commandName }) {
  const named = commandName === 'getMore' ? command.collection : command[commandName]
  return typeof named === 'string' ? named : undefined
}

/** @param {string} address  host:port */
function serverOf (address) {
  const colon = address.lastIndexOf(':')
  return { 'server.address': address.slice(0, colon), 'server.port': Number(address.slice(colon + 1)) }
}
