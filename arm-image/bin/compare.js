#!/usr/bin/env node
import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { parseTree, treeDifferences } from '../src/tree.js'

const HELP = `Usage: arm-image/bin/compare.js FIRST SECOND

Lists the differences between the root filesystems of two builds, file by file: content, rights,
owner, time. FIRST and SECOND are folders of builds, or their files.jsonl.
Exit code: 0 no difference, 1 differences, 2 wrong usage.

Example:
  STEVEC_IMAGE=/tmp/again make image
  arm-image/bin/compare.js arm-image/build/lamobo-r1 /tmp/again/lamobo-r1
`

const args = process.argv.slice(2)
if (args.includes('--help') || args.length !== 2) {
  process.stdout.write(HELP)
  process.exitCode = args.includes('--help') ? 0 : 2
} else {
  const lists = args.map((build) =>
    existsSync(build) && statSync(build).isDirectory() ? path.join(build, 'files.jsonl') : build
  )
  const missing = lists.find((file) => !existsSync(file))
  if (missing !== undefined) {
    process.stderr.write(`compare: there is no ${missing}\n`)
    process.exitCode = 2
  } else {
    const [first, second] = lists.map((file) => parseTree(readFileSync(file, 'utf8')))
    const differences = treeDifferences(first, second)
    process.stdout.write(
      differences.length === 0
        ? `the same: ${first.length} files, folders and links\n`
        : `${
          differences.map((difference) => `${difference}\n`).join('')
        }${differences.length} of ${first.length} differ\n`
    )
    process.exitCode = differences.length === 0 ? 0 : 1
  }
}
