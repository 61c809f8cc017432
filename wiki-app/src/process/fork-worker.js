import cluster from 'node:cluster'

/**
 * Forks a worker. If it dies, the connections that it was given and had not acknowledged are closed: Node's round-robin
 * scheduling keeps its own copy of them open for ever, so their clients would wait until their own time limit. No byte
 * of them was read: a worker acknowledges before it reads.
 * `act`, `seq` and `ack` are Node's own: lib/internal/cluster/round_robin_handle.js and utils.js. Should Node rename
 * them, nothing is closed, and worker-death.test.js fails.
 */
export function forkWorker () {
  const worker = cluster.fork()
  const { process: child } = worker
  /** By number of the message. @type {Map<number, {close: () => void}>} */
  const unacknowledged = new Map()
  const send = child.send.bind(child)
  child.send = (/** @type {any} */ message, /** @type {any} */ connection, /** @type {any[]} */ ...rest) => {
    if (message?.act === 'newconn') unacknowledged.set(message.seq, connection)
    return send(message, connection, ...rest)
  }
  child.on('internalMessage', ({ ack }) => { unacknowledged.delete(ack) })
  child.once('close', () => {
    for (const connection of unacknowledged.values()) connection.close()
    unacknowledged.clear()
  })
  return worker
}
