// What makes a small version of a picture: a process of its own, which may break, hang and take too much.
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { Readable } from 'node:stream'
import path from 'node:path'
import test from 'node:test'
import { promisify } from 'node:util'
import { deflateSync } from 'node:zlib'
import { waitUntil } from '@stevec/harness/processes'
import { createMaker, NotMade } from '../src/files/thumbnails/maker.js'
import { png, pngChunk } from './images.js'
import { childrenCalled, childrenWith, halves, MADE_MAX_MS } from './thumbnail-stories.js'

/** @param {Buffer} bytes */
const opened = (bytes) => async () => Readable.from([bytes])

test('a program that breaks, hangs or takes too much ends, and the wiki does not', async () => {
  const log = console
  const bytes = await halves(4_000, 3_000).jpeg({ progressive: true }).toBuffer()
  /** @type {[object, RegExp][]} */
  const table = [
    [{ cpuMaxMs: 1 }, /more than 1 ms of processor time/],
    [{ memoryMaxMib: 1 }, /more than 1 MiB of memory/],
    [{ wallMaxMs: 1 }, /SIGKILL/],
    [{ bytesMax: 10 }, /SIGKILL|ended with 0/]
  ]
  for (const [limits, reason] of table) {
    const answer = await createMaker({ log, limits }).make(opened(bytes))
    assert.match('refused' in answer ? answer.refused : 'made', reason)
  }
  const maker = createMaker({ log })
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="900" height="9"/>')
  for (const hostile of [Buffer.alloc(0), svg,
    Buffer.from('II*\0\x08\0\0\0'), Buffer.alloc(1_000_000, 'GIF8')]) {
    const answer = await maker.make(opened(hostile))
    assert.ok('refused' in answer, String(hostile.subarray(0, 20)))
  }
  await assert.rejects(maker.make(async () => Readable.from((async function * () {
    yield Buffer.from('\xff\xd8', 'latin1')
    throw new Error('the disk is away')
  })())), /the disk is away/)
  const answer = await maker.make(opened(bytes))
  assert.ok('data' in answer, 'after all of these it still makes one')

  const ending = maker.make(opened(bytes))
  const waiting = maker.make(opened(bytes))
  await waitUntil(() => childrenCalled('thumbnails/program.js') > 0, MADE_MAX_MS)
  maker.close()
  await assert.rejects(ending, NotMade)
  await assert.rejects(waiting, NotMade)
  assert.equal(childrenCalled('thumbnails/program.js'), 0)
})

test('it ends at its limits even while the decoder works', () => {
  // Of a picture with such rows the decoder takes more and more, for seconds.
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 8, 6, 0, 0, 0])
  header.writeUInt32BE(20_000_000)
  const wide = Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(80_000_001), { level: 1 })), pngChunk('IEND', Buffer.alloc(0))
  ])
  const program = path.join(import.meta.dirname, '../src/files/thumbnails/program.js')
  const { signal, stderr } =
    spawnSync(process.execPath, [program, '20000', '256'], { input: wide, encoding: 'utf8' })
  assert.deepEqual([signal, stderr], ['SIGKILL', 'more than 256 MiB of memory\n'])
})

test('a picture that does not arrive holds nothing up', async () => {
  const stalled = () => {
    const picture = new Readable({ read () {} })
    picture.push(Buffer.from('\xff\xd8\xff', 'latin1'))
    return picture
  }
  const [late, closed] = [stalled(), stalled()]
  const answer = await createMaker({ log: console, limits: { wallMaxMs: 100 } }).make(async () => late)
  assert.match('refused' in answer ? answer.refused : 'made', /SIGKILL/)
  assert.ok(late.destroyed)
  const maker = createMaker({ log: console })
  const making = maker.make(async () => closed)
  await waitUntil(() => childrenCalled('thumbnails/program.js') > 0, MADE_MAX_MS)
  maker.close()
  await assert.rejects(making, NotMade)
  assert.ok(closed.destroyed)
})

test('a process that cannot start, or that is stopped with the wiki, says nothing about the picture', async () => {
  const maker = createMaker({ log: console })
  const making = maker.make(async () => new Readable({ read () {} }))
  await waitUntil(() => {
    const [pid] = childrenWith('thumbnails/program.js')
    return pid !== undefined && process.kill(pid, 'SIGTERM')
  }, MADE_MAX_MS)
  await assert.rejects(making, NotMade)

  // The kernel's errors, as a wiki meets them that has no file descriptor left.
  const program = path.join(import.meta.dirname, 'no-descriptor.js')
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, program])
  assert.match(stdout, /^NotMade: the process cannot start: spawn \S+ EMFILE\nthe wiki runs\n$/)
})

test('many at once wait in a line of limited length', async () => {
  const maker = createMaker({ log: console })
  const bytes = await halves(400, 400).png().toBuffer()
  /** @type {(() => void)[]} */
  const begin = []
  const held = async () => {
    await new Promise((resolve) => begin.push(() => resolve(undefined)))
    return Readable.from([bytes])
  }
  const first = maker.make(held)
  const waiting = Array.from({ length: 100 }, () => maker.make(held).catch((error) => error))
  await assert.rejects(maker.make(held), NotMade)
  maker.close()
  await waitUntil(() => begin.length === 1, MADE_MAX_MS)
  begin[0]()
  await assert.rejects(first, NotMade)
  assert.ok((await Promise.all(waiting)).every((error) => error instanceof NotMade))
})

test('without its decoder the wiki shows pictures as they are, and says so once', async () => {
  /** @type {string[]} */
  const said = []
  const log = { warn: (/** @type {object} */ _about, /** @type {string} */ text) => said.push(text) }
  const program = path.join(import.meta.dirname, 'no-decoder.js')
  const maker = createMaker({ log: /** @type {any} */ (log), program })
  for (let index = 0; index < 3; index++) await assert.rejects(maker.make(opened(png(400, 400))), NotMade)
  assert.deepEqual(said, ['thumbnails cannot be made: sharp does not load'])
})

test('the process knows nothing of the wiki’s settings', async () => {
  const program = path.join(import.meta.dirname, 'shown-environment.js')
  const answer = await createMaker({ log: console, program }).make(opened(png(400, 400)))
  assert.ok('data' in answer)
  assert.deepEqual(JSON.parse(String(answer.data)), {})
})
