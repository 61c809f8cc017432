#!/usr/bin/env node
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildRelease } from '../src/build.js'
import { HERE } from '../src/units.js'

const ROOT = path.resolve(HERE, '../..')

const HELP = `Usage: node deploy/release/bin/release.js [--with-node]

Builds stevec-<version>.tar.gz, and a .deb of the same files, into deploy/build: the wiki, nginx's
configuration for origin and edge, units of systemd, and the npm packages of package-lock.json. The
same commit gives the same bytes. Installing and running it: docs/operations.md

  --with-node   bundles the Node that runs this, for machines without a fitting one

Examples:
  make release
  make release WITH_NODE=1      # with Node 24 from npm, for Debian 12
`

const { values } = parseArgs({ options: { 'with-node': { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })
if (values.help) process.stdout.write(HELP)
else {
  const { tarball, deb, version } = await buildRelease({
    source: ROOT,
    directory: path.resolve(HERE, '../build'),
    node: values['with-node'] ? process.execPath : null
  })
  if (version.dirty) process.stderr.write('note: files differ from the commit, and the version says so\n')
  for (const file of [tarball, deb]) {
    const sha256 = createHash('sha256').update(readFileSync(file)).digest('hex')
    process.stdout.write(`${sha256}  ${path.relative(process.cwd(), file)}\n`)
  }
}
