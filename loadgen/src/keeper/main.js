// The process that `stevec up` leaves behind to watch its stack; its argument is the stack's folder.
import { keepStack } from './keep.js'
import { lockKeeper } from './keeper-lock.js'

const directory = process.argv[2]
const log = (/** @type {string} */ line) => console.log(`${new Date().toISOString()} ${line}`)
const stopping = new AbortController()
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => stopping.abort())
const { release, holder } = lockKeeper(directory)
if (release === null) {
  log(`process ${holder} watches this stack already`)
} else {
  log('watches the stack')
  await keepStack({ directory, signal: stopping.signal, log }).finally(release)
  log('watches no longer')
}
