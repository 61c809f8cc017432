import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readConfig as readWikiConfig } from '@stevec/wiki-app/config'
import { isAllTaken, summaryOf } from '@stevec/wiki-app/moving/report'
import { runImport } from '@stevec/wiki-app/moving/run-import'
import { useWiki } from '@stevec/wiki-app/test/helper'
import { dump, page, redirect } from '@stevec/wiki-app/test/mediawiki-dump'
import { useShell } from './shell.js'

const wiki = useWiki()
const { run } = useShell()

/** @param {import('node:test').TestContext} t */
function folder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-import-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

test('wrong usage is refused with what to do instead, before anything is read or written', async (t) => {
  const file = path.join(folder(t), 'dump.xml')
  writeFileSync(file, dump())
  const cases = /** @type {[string[], RegExp][]} */ ([
    [[], /KIND is missing: mediawiki/],
    [['mediawikki', file], /there is no kind "mediawikki".*mediawiki/],
    [['mediawiki'], /FILE is missing/],
    [['mediawiki', '/nowhere'], /there is no file \/nowhere/],
    [['mediawiki', file, file], /unexpected argument/],
    [['mediawiki', file, '--on-conflict', 'merge'], /must be one of keep, replace, fail/],
    [['mediawiki', file, '--old-path', '/w/'], /belongs to --redirects/],
    [['mediawiki', file, '--redirects', 'x', '--old-path', 'wiki'], /must begin and end with a slash/],
    [['mediawiki', file, '--pictures', '/nowhere'], /there is no folder/],
    [['mediawiki', file, '--uri', 'mongodb://127.0.0.1:1'], /with the name of the wiki’s database/]
  ])
  for (const [args, message] of cases) {
    const { exitCode, stderr } = await run(['import', ...args])
    assert.equal(exitCode, 2, `${args}: ${stderr}`)
    assert.match(stderr, message)
  }
})

test('an import writes a report and a map of old addresses, and says what was not taken', async (t) => {
  const directory = folder(t)
  const file = path.join(directory, 'dump.xml')
  writeFileSync(file, dump(
    page('Main Page', [{}, {}]), redirect('Start', 'Main Page'), redirect('Nowhere', 'Missing'),
    page('Talk:X', [{}], { ns: 1 })
  ))
  const [report, map] = [path.join(directory, 'report'), path.join(directory, 'map')]
  const options = {
    config: readWikiConfig({ MONGODB_URI: wiki.freshUri() }),
    kind: 'mediawiki',
    file,
    report,
    redirects: { file: map, oldPath: '/wiki/' },
    converter: { close: async () => {} }
  }
  const { totals } = await runImport(options)
  assert.equal(summaryOf(totals, false), '2 revisions written, 1 page created, 1 redirect, 1 left out, 1 not taken')
  assert.equal(isAllTaken(totals), false)
  const lines = readFileSync(report, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line))
  assert.deepEqual(lines, [
    { source: 'Main Page', name: 'Main Page', result: 'created', revisions: 2 },
    { source: file, result: 'left-out', problem: 'pages of the namespace Talk', count: 1 },
    { source: 'Start', name: 'Start', result: 'redirect' },
    { source: 'Nowhere', name: 'Nowhere', result: 'untaken', problem: 'it leads to “Missing”, which is no page here' }
  ])
  assert.match(readFileSync(map, 'utf8'), /"Main_Page" "\/wiki\/Main%20Page";/)
  const again = await runImport({ ...options, dryRun: true })
  assert.equal(summaryOf(again.totals, true), '0 revisions would be written, 2 unchanged, 1 left out, 1 not taken')
  await assert.rejects(runImport({ ...options, report: path.join(directory, 'no/folder') }),
    /no\/folder cannot be written: ENOENT.*name another file/)
})

test('settings of the wiki reach an import, and those of its server do not', async () => {
  const { readConfig } = await import('../src/config.js')
  const { importEnvironment } = readConfig({
    PAGE_MAX_BYTES: '10', PICTURE_FOLDER: '/srv', PURGE_ZONE: 'z', ACCESS: 'users', PORT: '1', OTHER: 'x'
  })
  assert.deepEqual(importEnvironment, { PAGE_MAX_BYTES: '10', PURGE_ZONE: 'z', PICTURE_FOLDER: '/srv' })
})
