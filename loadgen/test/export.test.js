import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { save, useWiki } from '@stevec/wiki-app/test/helper'
import { useShell } from './shell.js'

const wiki = useWiki()
const { run } = useShell()

test('stevec export git writes a repository, says what it wrote, and what to do where it cannot', async (t) => {
  const uri = wiki.freshUri()
  const app = await wiki.build(t, { MONGODB_URI: uri })
  await save(app, 'Hello', '# Hello')
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-export-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const folder = path.join(directory, 'moved')

  const made = await run(['export', 'git', folder, '--uri', uri])
  assert.equal(made.exitCode, 0, made.stderr)
  assert.equal(made.stdout, `exported to ${folder}: 1 revision, 0 pictures\n`)
  assert.match(execFileSync('git', ['log', '--format=%an <%ae> %s'], { cwd: folder }).toString(),
    /^Anonymous <> Hello$/m)
  const again = await run(['export', 'git', folder, '--uri', uri])
  assert.equal(again.stdout, `${folder} has everything already\n`)

  for (const [args, exitCode, message, env] of /** @type {[string[], number, RegExp, Record<string, string>?][]} */ ([
    [['export'], 2, /say what to export to, git/],
    [['export', 'svn', folder], 2, /say what to export to, git/],
    [['export', 'git'], 2, /FOLDER is missing/],
    [['export', 'git', folder, 'more'], 2, /unexpected argument "more"/],
    [['export', 'git', folder, '--uri', wiki.freshUri()], 2, /there is no wiki in it/],
    [['export', 'git', '/dev/null/x', '--uri', uri], 3, /ENOTDIR/],
    [['export', 'git', folder, '--uri', uri], 3, /git is missing here: install it/, { PATH: directory }]
  ])) {
    const failed = await run(args, env)
    assert.match(failed.stderr, message, args.join(' '))
    assert.equal(failed.exitCode, exitCode, args.join(' '))
  }
})
