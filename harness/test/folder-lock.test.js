import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { lockFolder } from '../src/folder-lock.js'
import { waitUntil } from '../src/processes.js'

const directory = mkdtempSync(path.join(tmpdir(), 'stevec-folder-lock-'))
after(() => rmSync(directory, { recursive: true }))

describe('the lock of a folder', () => {
  test('goes to one of many that take it at once, and is free after its release', async () => {
    const folder = path.join(directory, 'state/lab')
    const attempts = await Promise.all(Array.from({ length: 10 }, () => lockFolder(folder)))
    const [release, ...others] = attempts.filter((attempt) => attempt !== null)
    assert.deepEqual(others, [])
    assert.equal(await lockFolder(folder), null)
    await release()
    await (await lockFolder(folder))?.()
  })

  test('is one for each folder', async () => {
    const releases = [await lockFolder(path.join(directory, 'a')), await lockFolder(path.join(directory, 'b'))]
    for (const release of releases) await release?.()
    assert.ok(releases.every((release) => release !== null))
  })

  for (const [how, signal] of /** @type {const} */ ([['ends without a release', null], ['is killed', 'SIGKILL']])) {
    test(`is free when its holder ${how}`, async () => {
      const folder = path.join(directory, 'lab')
      const source = new URL('../src/folder-lock.js', import.meta.url).href
      const script = `import { lockFolder } from ${JSON.stringify(source)}
        await lockFolder(${JSON.stringify(folder)})
        console.log('taken')
        process.stdin.resume().on('end', () => process.exit())`
      const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
        stdio: ['pipe', 'pipe', 'inherit']
      })
      await once(child.stdout, 'data')
      assert.equal(await lockFolder(folder), null)
      if (signal === null) child.stdin.end()
      else child.kill(signal)
      await once(child, 'exit')
      const release = await waitUntil(() => lockFolder(folder), 60_000)
      assert.ok(release)
      await release()
    })
  }

  test('cannot be taken where its file cannot be written', async () => {
    await assert.rejects(lockFolder('/proc/lab'), /\/proc\/lab\.lock cannot be locked/)
  })
})
