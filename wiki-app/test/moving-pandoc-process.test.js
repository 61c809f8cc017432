import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { childPids } from '@stevec/harness/proc'
import { pandocFor } from './pandoc.js'

/** Takes pandoc seconds: marks that open and close in many ways. */
const SLOW = "''''' ".repeat(100_000)

test('a text that takes or becomes too long is a code block with the reason, and the next is converted', async (t) => {
  const { convert } = pandocFor(t, { limits: { cpuMs: 1_000 } })
  const [slow, wide, next] = await convert([SLOW, '{|\n| colspan=100000000 | ```x\n|}', "''next''"])
  assert.equal(slow.content, `\`\`\`wikitext\n${SLOW}\n\`\`\`\n`)
  assert.equal(slow.problem, 'It stays as it was written: converting it takes more than 1 s.')
  assert.match(wide.content, /^````wikitext\n\{\|/)
  assert.match(String(wide.problem), /converting it takes more than/)
  assert.deepEqual(next, { content: '*next*\n' })
  const short = pandocFor(t, { limits: { outputBytes: 1_000 } })
  assert.match(String((await short.one('a '.repeat(1_000))).problem), /its Markdown would be longer than 1000 bytes\.$/)
  assert.match(String((await short.one('a'.repeat(4_194_305))).problem), /it has more than 4194304 characters\.$/)
})

test('sections of a text that each take too long do not take that time one after another', async (t) => {
  const cpuMs = 300
  const { convert, one } = pandocFor(t, { limits: { cpuMs } })
  const text = Array.from({ length: 16 }, (_, index) => `a${index}\n{|\n| colspan=3000000 | x\n|}\n\n`).join('')
  await one('a')
  const [pid] = childPids(process.pid)
  assert.ok(pid)
  const pids = new Set([pid])
  const timer = setInterval(() => { for (const child of childPids(process.pid)) pids.add(child) }, 20)
  const results = await convert([text, `${text}x`])
  clearInterval(timer)
  for (const { problem } of results) assert.match(String(problem), /converting it takes more than 0\.3 s/)
  // One for the question about all sections, one for each whole text, and what may be asked for alone.
  assert.ok(pids.size <= 6, `${pids.size} processes`)
})

test('many texts are converted by several processes, in their order, also when these are stopped', async (t) => {
  const { convert } = pandocFor(t, { processes: 2 })
  const texts = Array.from({ length: 60 }, (_, index) => `'''${index}''' ${'[[a]] '.repeat(50)}`)
  const before = childPids(process.pid)
  const converting = convert(texts)
  const children = childPids(process.pid).filter((pid) => !before.includes(pid))
  assert.equal(children.length, 2)
  for (const pid of children) process.kill(pid)
  const results = await converting
  const numbers = results.map(({ content }) => content.slice(0, content.indexOf(' ')))
  assert.deepEqual(numbers, texts.map((_, index) => `**${index}**`))
})

test('without a pandoc that runs, a conversion fails with the reason', async (t) => {
  const missing = pandocFor(t, { command: '/nowhere/pandoc' })
  await assert.rejects(missing.one('a'), { message: /^pandoc \(\/nowhere\/pandoc\) does not start: .*ENOENT/ })
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-pandoc-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const command = path.join(directory, 'pandoc')
  writeFileSync(command, '#!/bin/sh\necho "Unknown option lua" >&2\nexit 6\n', { mode: 0o755 })
  await assert.rejects(pandocFor(t, { command }).one('a'), { message: /does not start: Unknown option lua$/ })
})
