#!/usr/bin/env node
// The table of settings in wiki-app/README.md, from their one description in src/settings.js.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { settingsTable } from '../src/settings-table.js'

const HELP = `Usage: node wiki-app/bin/settings.js [--write]

Prints the settings of the wiki as a table in Markdown. --write puts it into wiki-app/README.md.
`
const README = new URL('../README.md', import.meta.url)
const { values } = parseArgs({ options: { write: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } })

if (values.help) process.stdout.write(HELP)
else if (values.write) {
  const text = readFileSync(README, 'utf8')
  writeFileSync(README, text.replace(/^\| setting \| default \|.*(?:\n\|.*)*/m, () => settingsTable()))
} else process.stdout.write(`${settingsTable()}\n`)
