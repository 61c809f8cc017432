import { logTail } from '@stevec/harness/processes'

const MESSAGE_MAX_CHARS = 500

/**
 * Returns why k6 ended badly, in its own words.
 * @param {string} logFile  of k6: logfmt, a line for each event
 * @returns {string} one line; the end of the log where it has no error
 */
export function k6Message (logFile) {
  const tail = logTail(logFile)
  const error = tail.split('\n').filter((line) => / level=error /.test(line)).at(-1)
  const [, quoted] = /msg=("(?:[^"\\]|\\.)*")/.exec(error ?? '') ?? []
  return (quoted === undefined ? tail : unquoted(quoted)).replace(/\s+/g, ' ').trim().slice(0, MESSAGE_MAX_CHARS)
}

/** @param {string} text  quoted as Go does, which differs from JSON for rare characters only */
function unquoted (text) {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
