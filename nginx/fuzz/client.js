import net from 'node:net'

const ANSWER_MAX_MS = 60_000
const HEAD_MAX_BYTES = 65_536
const LAST_CHUNK = '0\r\n\r\n'

/** @typedef {{status: number, cache: string, echo: string | null, coding: string}} Answer */

/**
 * Sends requests to the edge byte for byte: one request at a time, over one connection after another.
 * @param {number} port
 */
export function createRawClient (port) {
  /** @type {net.Socket | null} */
  let socket = null
  let text = ''
  /** Wakes the pending request: there is more to read, or the connection has ended. */
  let look = () => {}
  let ended = false

  function connect () {
    ended = false
    text = ''
    const opened = net.connect(port, '127.0.0.1')
    opened.setNoDelay(true).setEncoding('latin1')
    opened.on('data', (data) => { text += data; look() })
    for (const event of ['error', 'end', 'close']) {
      opened.on(event, () => { if (socket === opened) { ended = true; look() } })
    }
    socket = opened
  }

  /** @param {string} method @returns {Answer | null} null while it is incomplete */
  function takeAnswer (method) {
    const end = text.indexOf('\r\n\r\n')
    if (end === -1) {
      if (text.length > HEAD_MAX_BYTES) throw new Error('an answer without end')
      return null
    }
    const head = text.slice(0, end)
    const field = (/** @type {string} */ name) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]
    const from = end + 4
    const length = method === 'HEAD' ? 0 : Number(field('Content-Length') ?? 0)
    // Nothing else in these responses looks like the last chunk.
    const to = field('Transfer-Encoding') ? text.indexOf(LAST_CHUNK, from) + LAST_CHUNK.length : from + length
    if (to < from || text.length < to) return null
    text = text.slice(to)
    if (/^close$/i.test(field('Connection') ?? '')) ended = true
    const echo = field('Echo')
    return {
      status: Number(head.slice(9, 12)),
      cache: field('CF-Cache-Status') ?? '',
      echo: echo === undefined ? null : decodeURIComponent(echo),
      coding: field('Content-Encoding') ?? 'identity'
    }
  }

  return {
    /**
     * @param {string} method
     * @param {string} bytes  Latin-1
     * @returns {Promise<Answer>}
     * @throws {Error} when the connection ends, or a minute passes, before the answer is complete
     */
    ask (method, bytes) {
      if (socket === null || ended) {
        socket?.destroy()
        connect()
      }
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`no answer to ${JSON.stringify(bytes)}`)), ANSWER_MAX_MS)
        const settle = (/** @type {() => void} */ say) => { clearTimeout(timer); look = () => {}; say() }
        look = () => {
          const answer = takeAnswer(method)
          if (answer !== null) settle(() => resolve(answer))
          else if (ended) settle(() => reject(new Error(`the connection ended after ${JSON.stringify(bytes)}`)))
        }
        socket?.write(bytes, 'latin1')
      })
    },
    close () { socket?.destroy() }
  }
}
