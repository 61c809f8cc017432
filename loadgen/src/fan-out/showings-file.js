import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

const COLUMNS = 'watcher,page,revision,answered_at_us,shown_at_us'

/**
 * Writes feeds.csv.gz of a trial: when each list that was looked at showed each change first.
 * @param {string} directory  of the trial
 * @param {import('./delays.js').Showing[]} showings
 */
export function writeShowings (directory, showings) {
  const rows = showings.map(({ watcher, change, doneAtUs, seenAtUs }) =>
    `${watcher},${change.replace(' ', ',')},${Math.round(doneAtUs)},${seenAtUs ?? ''}\n`)
  writeFileSync(path.join(directory, 'feeds.csv.gz'), gzipSync(`${COLUMNS}\n${rows.join('')}`))
}
