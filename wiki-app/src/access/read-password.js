import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'

const INPUT_MAX_CHARS = 10_000

/**
 * On a terminal it is typed twice, unseen; else it is the input's first line.
 * @param {NodeJS.ReadStream} [input] @returns {Promise<string>}
 * @throws {Error} when the two differ, or Ctrl+C is pressed
 */
export async function readPassword (input = process.stdin) {
  if (input.isTTY) {
    const first = await ask(input, 'Password (not shown): ')
    if (first !== await ask(input, 'Once more: ')) {
      throw new Error('the two passwords are not the same; nothing was changed')
    }
    return first
  }
  let text = ''
  for await (const part of input.setEncoding('utf8')) {
    text += part
    if (text.length > INPUT_MAX_CHARS) break
  }
  return text.split(/\r?\n/, 1)[0]
}

/** @param {NodeJS.ReadStream} input  a terminal @param {string} question */
async function ask (input, question) {
  process.stderr.write(question)
  // For readline's editing keys. Its output would show the password, so it is dropped.
  const lines = createInterface({
    input,
    output: new Writable({ write: (_chunk, _encoding, done) => done() }),
    terminal: true
  })
  const interrupted = new Promise((_resolve, reject) =>
    lines.once('SIGINT', () => reject(new Error('interrupted; nothing was changed'))))
  try {
    return await Promise.race([lines.question(''), interrupted])
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}
