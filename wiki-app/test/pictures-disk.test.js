import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test, { after } from 'node:test'
import { useWiki, get } from './helper.js'
import { png } from './images.js'
import { assertShown, placeStories, post, startCommand, uploaded } from './picture-stories.js'

const root = mkdtempSync(path.join(tmpdir(), 'stevec-picture-folders-'))
after(() => rmSync(root, { recursive: true }))
let folders = 0

function newFolder () {
  const folder = path.join(root, String(++folders))
  mkdirSync(folder)
  return folder
}

/** @param {Record<string, string>} settings */
const names = ({ PICTURE_FOLDER: folder }) => readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name !== '.stevec-pictures')
  .map(({ name }) => name)

placeStories({ name: 'disk', settings: async () => ({ PICTURE_FOLDER: newFolder() }), names })

const wiki = useWiki()

test('disk: a folder that cannot be used is refused at the start, with the next step', async (t) => {
  const file = path.join(root, 'file')
  writeFileSync(file, '')
  for (const [folder, message] of /** @type {[string, RegExp][]} */ ([
    [path.join(root, 'none'), /cannot be used \(ENOENT\); make that folder/], [file, /is no folder/],
    ['relative', /must be the absolute path/]
  ])) {
    await assert.rejects(wiki.build(t, { PICTURE_STORE: 'disk', PICTURE_FOLDER: folder }), message)
  }
  await assert.rejects(wiki.build(t, { PICTURE_STORE: 'disk' }), /not allowed without PICTURE_FOLDER/)
  await assert.rejects(wiki.build(t, { PICTURE_SENDER: 'nginx' }), /not allowed without PICTURE_FOLDER/)
})

test('disk: no name leads out of the folder, and no link in it is followed', async (t) => {
  const folder = newFolder()
  const app = await wiki.build(t, { PICTURE_STORE: 'disk', PICTURE_FOLDER: folder })
  const secret = path.join(root, 'secret')
  writeFileSync(secret, 'a secret of the same length as a picture'.padEnd(png().length).slice(0, png().length))
  for (const name of ['..%2f..%2fsecret', '.stevec-pictures', 'arriving', `${'0'.repeat(32)}.png%2f..`]) {
    assert.equal((await get(app, `/files/${name}`)).statusCode, 404, name)
  }
  const url = await uploaded(app, png())
  const [name] = names({ PICTURE_FOLDER: folder })
  const file = path.join(folder, name.slice(0, 2), name)
  rmSync(file)
  symlinkSync(secret, file)
  const answer = await get(app, url)
  assert.deepEqual([answer.statusCode, answer.headers['cache-control']], [500, 'no-store'])
  assert.doesNotMatch(answer.body, /secret/)
})

test('disk: lost or cut bytes are an error that no cache keeps, and `check` names the picture', async (t) => {
  const settings = { MONGODB_URI: wiki.freshUri(), PICTURE_STORE: 'disk', PICTURE_FOLDER: newFolder() }
  const app = await wiki.build(t, settings)
  const [cut, lost, damaged, whole] = [await uploaded(app, png(1)), await uploaded(app, png(2)),
    await uploaded(app, png(3)), await uploaded(app, png(4))]
  const fileOf = (/** @type {string} */ url) => {
    const name = names(settings).find((each) => each.startsWith(url.slice(7, 39))) ?? ''
    return path.join(settings.PICTURE_FOLDER, name.slice(0, 2), name)
  }
  writeFileSync(fileOf(cut), png(1).subarray(0, 20))
  rmSync(fileOf(lost))
  writeFileSync(fileOf(damaged), Buffer.alloc(png(3).length))
  for (const url of [cut, lost]) {
    const answer = await get(app, url)
    assert.deepEqual([answer.statusCode, answer.headers['cache-control'], answer.headers.etag],
      [500, 'no-store', undefined])
  }
  await assertShown(app, whole, png(4))
  for (const args of [['check'], ['move', '--to', 'database']]) {
    const { code, output } = await startCommand(args, settings).ended
    assert.equal(code, 1, output)
    assert.deepEqual(
      [...output.matchAll(/damaged or missing: ([0-9a-f]+)/g)].map(([, name]) => name).sort(),
      [cut, lost, damaged].map((url) => url.slice(7, 39)).sort()
    )
  }
  await assertShown(app, whole, png(4))
  assert.equal(names(settings).length, 2, 'damaged ones stay where they are')
})

test('disk: a folder that can no longer be written gives 503 to uploads, and pictures are still shown', async (t) => {
  const folder = newFolder()
  const app = await wiki.build(t, { PICTURE_STORE: 'disk', PICTURE_FOLDER: folder })
  const url = await uploaded(app, png())
  rmSync(path.join(folder, 'arriving'), { recursive: true })
  const refused = await post(app, png(2))
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [503, '5'])
  assert.doesNotMatch(refused.body, new RegExp(root))
  await assertShown(app, url, png())
  chmodSync(folder, 0o700)
})

test('the command says what is wrong with its arguments and settings', async () => {
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [[], /there is `move` and `check`/], [['move'], /--to must be one of database, disk, s3/],
    [['move', '--to', 'tape'], /--to must be one of/], [['check', '--to', 'disk'], /--to belongs to `move`/],
    [['move', '--to', 'disk'], /there are no settings for disk/], [['move', '--from', 'x'], /Unknown option/]
  ])) {
    const { code, output } = await startCommand(args, {}).ended
    assert.equal(code, 2, output)
    assert.match(output, message)
  }
  const help = await startCommand(['--help'], {}).ended
  assert.equal(help.code, 0)
  assert.ok(help.output.split('\n').every((line) => line.length <= 100))
})
