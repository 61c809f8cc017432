import { createRequire } from 'node:module'
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
 */
export function createCommandSpans (steps) {
  /** By the driver's number of the request. @type {Map<number, Active>} */
  const running = new Map()
  // Of commands that outlive their request.
  steps.onIdle(() => running.clear())

  /** @param {{requestId: number}} event @param {(span: import('@opentelemetry/api').Span) => void} [note] */
  function end ({ requestId }, note) {
    const command = running.get(requestId)
    if (command === undefined) return
    running.delete(requestId)
    note?.(command.span)
    command.span.end(command.now())
  }

  return {
    /** Of the client. */
    options: { connectionType: connectionThatTells(steps.isFollowing) },

    /** @param {MongoClient} client */
    watch (client) {
      client.on('commandStarted', (event) => {
        const parent = steps.active()
        if (parent === undefined || running.size >= RUNNING_MAX) return
        const { address, databaseName: namespace, commandName: operation } = event
        const about = aboutCommand({ operation, namespace, collection: collectionOf(event), address })
        running.set(event.requestId, steps.below(about.name, parent, about))
      })
      client.on('commandSucceeded', (event) => end(event))
      client.on('commandFailed', (/** @type {CommandFailedEvent} */ event) => end(event, (span) => {
        const { code } = /** @type {{code?: number | string}} */ (event.failure)
        if (code !== undefined) span.setAttribute('db.response.status_code', String(code))
        noteError(span, event.failure)
      }))
    }
  }
}

/**
 * With the driver's option `monitorCommands` each command is a tenth dearer, traced or not. This makes its connections
 * tell of commands while `isWanted`. `connectionType` and the class are the driver's own: should they be renamed,
 * traces.test.js fails.
 * @param {() => boolean} isWanted
 */
function connectionThatTells (isWanted) {
  const requireDriver = createRequire(createRequire(import.meta.url).resolve('mongoose'))
  /** @type {{Connection: new (...args: any[]) => object}} */
  const { Connection } = requireDriver('mongodb/lib/cmap/connection.js')
  return class extends Connection {
    get monitorCommands () { return isWanted() }
    set monitorCommands (_always) {}
  }
}

/**
 * @param {{operation: string, namespace: string, collection?: string, address?: string}} command  `address`: host:port
 */
export function aboutCommand ({ operation, namespace, collection, address }) {
  const colon = address?.lastIndexOf(':')
  return {
    name: collection === undefined ? operation : `${operation} ${collection}`,
    kind: SpanKind.CLIENT,
    attributes: {
      'db.system.name': 'mongodb',
      'db.operation.name': operation,
      'db.namespace': namespace,
      ...collection !== undefined && { 'db.collection.name': collection },
      ...address !== undefined && {
        'server.address': address.slice(0, colon), 'server.port': Number(address.slice(Number(colon) + 1))
      }
    }
  }
}

/** @param {CommandStartedEvent} event @returns {string | undefined} undefined: the command has none */
function collectionOf ({ command, commandName }) {
  const named = commandName === 'getMore' ? command.collection : command[commandName]
  return typeof named === 'string' ? named : undefined
}
