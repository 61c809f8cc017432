const AUTHOR = /^author (.*?) ?<[^<>]*> (-?\d{1,15}) [+-]\d{4}$/
const TIME_MAX_S = 8_640_000_000_000

/**
 * https://git-scm.com/docs/git-commit-tree#_commit_information
 * @param {Buffer} bytes  of a commit, which may be hostile
 * @returns {Pick<import('./commits.js').Commit, 'author' | 'at' | 'message'>}
 */
export function commitIn (bytes) {
  const end = bytes.indexOf('\n\n')
  const head = bytes.subarray(0, end === -1 ? undefined : end)
  const encoding = /^encoding (\S+)$/m.exec(head.toString('latin1'))?.[1]
  const decode = decoderOf(encoding)
  const lines = decode(head).split('\n')
  const [, author = '', seconds = '0'] = lines.map((line) => AUTHOR.exec(line)).find((match) => match !== null) ?? []
  const time = Number(seconds)
  return {
    author: author.trim(),
    at: new Date(Math.abs(time) <= TIME_MAX_S ? time * 1000 : 0),
    message: end === -1 ? '' : decode(bytes.subarray(end + 2)).trimEnd()
  }
}

/** The first paragraph, as `git log --format=%s` has it. @param {string} message */
export const subjectOf = (message) =>
  message.trimStart().split(/\n[ \t]*\n/, 1)[0].replace(/(?<!\s)\s*\n\s*/g, ' ').trim()

/** @param {string} [encoding] @returns {(bytes: Buffer) => string} */
function decoderOf (encoding) {
  try {
    const decoder = new TextDecoder(encoding)
    return (bytes) => decoder.decode(bytes)
  } catch {
    return (bytes) => bytes.toString()
  }
}
