// Moves a dump in as `stevec import` does, without a converter: for tests that stop it.
import { readConfig } from '../src/config.js'
import { runImport } from '../src/moving/run-import.js'

const [uri, file] = process.argv.slice(2)
const controller = new AbortController()
process.once('SIGINT', () => controller.abort())
try {
  const { totals } = await runImport({
    config: readConfig({ MONGODB_URI: uri }),
    kind: 'mediawiki',
    file,
    signal: controller.signal,
    converter: { close: async () => {} },
    onProgress: ({ created }) => process.stdout.write(`${created}\n`)
  })
  process.stdout.write(`${JSON.stringify(totals)}\n`)
} catch (error) {
  process.exitCode = /** @type {Error} */ (error).name === 'AbortError' ? 130 : 3
}
