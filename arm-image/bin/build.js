#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { PARAMETERS } from '../recipe.js'
import { buildImage } from '../src/build.js'
import { buildDirectory, ParameterError, readParameters } from '../src/parameters.js'
import { BuildError } from '../src/run.js'

const HELP = `Usage: [PARAMETER=value …] arm-image/bin/build.js [--xz] [--locked | --renew-lock]

Builds a card image of the wiki's origin for a Banana Pi, as root. The result is in arm-image/build/<BOARD>/ (or below STEVEC_IMAGE):
stevec.img, manifest.json, SHA256SUMS, packages.txt, files.jsonl, and the kernel for QEMU.

  --xz           also make stevec.img.xz
  --locked       fail when Debian has other versions than packages.lock.json; otherwise they are told and noted in the manifest
  --renew-lock   take the versions of today into packages.lock.json

Parameters:
${Object.entries(PARAMETERS)
  .map(([name, { default: fallback, says }]) => `  ${name.padEnd(16)} ${says}\n${' '.repeat(19)}default ${fallback}`)
  .join('\n')}

Examples:
  make image
  make image BOARD=bananapi SSH_KEY=~/.ssh/id_ed25519.pub MONGODB_URI='mongodb://192.168.1.10:27017/stevec?replicaSet=stevec'
`

try {
  const { values } = parseArgs({
    options: {
      xz: { type: 'boolean' },
      locked: { type: 'boolean' },
      'renew-lock': { type: 'boolean' },
      help: { type: 'boolean', short: 'h' }
    }
  })
  if (values.help) {
    process.stdout.write(HELP)
  } else {
    await buildImage({
      parameters: readParameters(),
      directory: buildDirectory(),
      write: (text) => process.stdout.write(text),
      lock: values['renew-lock'] ? 'renew' : values.locked ? 'refuse' : 'warn',
      compress: values.xz
    })
  }
} catch (error) {
  const { message, stack, code } = /** @type {NodeJS.ErrnoException} */ (error)
  const usage = error instanceof ParameterError || code?.startsWith('ERR_PARSE_ARGS')
  process.stderr.write(`image: ${usage || error instanceof BuildError ? message : stack}\n`)
  process.exitCode = usage ? 2 : 1
}
