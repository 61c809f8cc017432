import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

/** The first line is all there should be. */
const INPUT_MAX_CHARS = 10_000

/**
 * A password for a command: typed twice without being shown, or the first line of standard input.
 * @param {NodeJS.ReadStream} [input]
 * @returns {Promise<string>}
 * @throws {Error} when the two are not the same
 */
export async function readPassword (input = process.stdin) {
  if (input.isTTY) {
    const first = await ask(input, 'Password (not shown): ')
    if (first !== await ask(input, 'Once more: ')) throw new Error('the two passwords are not the same; nothing was changed')
    return first
  }
  let text = ''
  for await (const part of input.setEncoding('utf8')) {
    text += part
    if (text.length > INPUT_MAX_CHARS) break
  }
  return text.split(/\r?\n/, 1)[0]
}

/**
 * @param {NodeJS.ReadStream} input  a terminal
 * @param {string} question
 */
async function ask (input, question) {
  process.stderr.write(question)
  // It edits the line as people are used to, and what it would show goes nowhere.
  const lines = createInterface({ input, output: new Writable({ write: (_chunk, _encoding, done) => done() }), terminal: true })
  const interrupted = new Promise((_resolve, reject) => lines.once('SIGINT', () => reject(new Error('interrupted; nothing was changed'))))
  try {
    return await Promise.race([lines.question(''), interrupted])
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
