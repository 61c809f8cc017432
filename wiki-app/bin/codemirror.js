#!/usr/bin/env node
// The bundle of CodeMirror that browsers load (docs/decisions/0098). Needs the npm packages of tests.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const HELP = `Usage: node wiki-app/bin/codemirror.js (--write | --check)

Bundles what wiki-app/src/assets/codemirror.d.ts names, from the npm packages of the lock file.
--write puts it into wiki-app/src/assets/codemirror.js. --check exits with 1 if that file differs.
`
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const ENTRY = 'wiki-app/src/assets/codemirror.d.ts'
const BUNDLE = path.join(ROOT, 'wiki-app/src/assets/codemirror.js')

const { values } = parseArgs({
  options: { write: { type: 'boolean' }, check: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
})

if (values.write) writeFileSync(BUNDLE, await bundle())
else if (values.check) {
  if (readFileSync(BUNDLE, 'utf8') !== await bundle()) {
    process.stderr.write('It differs from the packages: run node wiki-app/bin/codemirror.js --write\n')
    process.exitCode = 1
  }
} else process.stdout.write(HELP)

/** @returns {Promise<string>} the same bytes for the same lock file */
async function bundle () {
  const { build } = await import('esbuild')
  const { outputFiles: [{ text }], metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    legalComments: 'none',
    metafile: true,
    outfile: BUNDLE,
    write: false
  })
  const [{ inputs }] = Object.values(metafile.outputs)
  const used = Object.keys(inputs).filter((file) => inputs[file].bytesInOutput > 0)
  return `/*\n${notice(used)}*/\n${text}`
}

/** Copies keep the copyright and the licence, which is the same for all. @param {string[]} files */
function notice (files) {
  const folders = files.flatMap((file) => /^node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? [])
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version } = JSON.parse(readFileSync(path.join(ROOT, folder, 'package.json'), 'utf8'))
    const [, copyright, terms] = /^(?:MIT License\n\n)?(Copyright .*)\n\n([^]*)$/
      .exec(readFileSync(path.join(ROOT, folder, 'LICENSE'), 'utf8')) ?? []
    return { line: `${name} ${version}: ${copyright}\n`, terms }
  })
  const [{ terms }] = texts
  if (texts.some((text) => text.terms !== terms)) throw new Error('The packages are under different licences.')
  return `${texts.map(({ line }) => line).join('')}\n${terms}`
}
