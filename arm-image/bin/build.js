#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { PARAMETERS } from '../recipe.js'
import { buildImage } from '../src/build.js'
import { buildDirectory, ParameterError, readParameters } from '../src/parameters.js'
import { BuildError } from '../src/run.js'

const HELP = `Usage: [PARAMETER=value …] arm-image/bin/build.js [--xz] [--locked | --renew-lock]

Builds a card image of the wiki's origin for a Banana Pi, as root. Writes to
arm-image/build/<BOARD>/ (or below STEVEC_IMAGE): stevec.img, manifest.json, SHA256SUMS,
packages.txt, files.jsonl, and kernel and initrd for QEMU.

  --xz           also makes stevec.img.xz
  --locked       fails if Debian's package versions differ from packages.lock.json; without it, they
                 are listed, and recorded in the manifest
  --renew-lock   writes today's versions to packages.lock.json

Exit code: 0 built, 1 failed, 2 wrong usage.

Parameters, as environment variables:
${Object.entries(PARAMETERS)
  .map(([name, { default: fallback, says }]) => `  ${name.padEnd(16)} ${says}\n${' '.repeat(19)}default ${fallback}`)
  .join('\n')}

Examples:
  make image
  make image BOARD=bananapi SSH_KEY=~/.ssh/id_ed25519.pub
  make image MONGODB_URI='mongodb://192.168.1.10:27017/stevec?replicaSet=stevec'
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
