import assert from 'node:assert/strict'
import {
  existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { prepareRole } from '@stevec/nginx'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { startEdge } from './edge-helper.js'

const TAG = 'CACHEDIR.TAG'
/** The first line of any CACHEDIR.TAG: https://bford.info/cachedir/ */
const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55'

/** @param {string} directory */
function prepare (directory) {
  const binary = requireTool('nginx').path
  const origin = { addresses: ['127.0.0.1'], port: 1, host: '127.0.0.1', tls: false }
  return prepareRole(
    { role: 'edge', port: 18080, origin, controlPort: 18081, controlToken: 'a-token' },
    { directory, binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' })
}

/**
 * Creates a folder for an edge, and removes it after the test.
 * @param {import('node:test').TestContext} t
 */
function makeFolder (t) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-folder-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return { directory, answers: path.join(directory, 'answers') }
}

/**
 * @param {string} answers
 * @param {Record<string, string>} files
 */
function fill (answers, files) {
  mkdirSync(answers)
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(answers, name), text)
}

for (const [what, make, left] of /** @type {[string, (answers: string) => void, string][]} */ ([
  ['a folder with other files', (answers) => fill(answers, { 1: 'x', 'notes.txt': 'y' }), 'answers/notes.txt'],
  ['the cache of another program', (answers) => fill(answers, { [TAG]: `${SIGNATURE}\n# Of a compiler.\n`, 1: 'x' }),
    'answers/1'],
  ['a tag without a signature', (answers) => fill(answers, { [TAG]: '# The cache of an edge of stevec.\n', 1: 'x' }),
    'answers/1'],
  ['a folder with subfolders', (answers) => mkdirSync(path.join(answers, '1'), { recursive: true }), 'answers/1'],
  ['a symbolic link to a folder', (answers) => {
    fill(`${answers}-2`, { 1: 'x' })
    symlinkSync('answers-2', answers)
  }, 'answers-2/1'],
  ['a dangling symbolic link', (answers) => symlinkSync('nowhere', answers), ''],
  ['a file', (answers) => writeFileSync(answers, 'x'), 'answers']
])) {
  test(`${what} at the path of the cache is not deleted`, async (t) => {
    const { directory, answers } = makeFolder(t)
    make(answers)
    const before = readdirSync(directory, { recursive: true })
    await assert.rejects(prepare(directory), (error) => {
      const { message } = /** @type {Error} */ (error)
      return message.includes(answers) && /nothing was deleted\. Move it away, or choose another folder/.test(message)
    })
    assert.deepEqual(readdirSync(directory, { recursive: true }), before)
    assert.ok(existsSync(path.join(directory, left)))
  })
}

for (const [what, make] of /** @type {[string, (answers: string) => void][]} */ ([
  ['no folder', () => {}],
  ['an empty folder', (answers) => mkdirSync(answers)],
  ['the cache of an older edge, without a tag', (answers) => fill(answers, { 1: 'x', 20: 'y' })],
  ['the cache of an edge that was killed during its start', (answers) => fill(answers, { [TAG]: '' })]
])) {
  test(`${what} becomes a tagged cache, which the next start empties`, async (t) => {
    const { directory, answers } = makeFolder(t)
    make(answers)
    for (let count = 1; count <= 2; count++) {
      await prepare(directory)
      assert.deepEqual(readdirSync(answers), [TAG])
      const tag = readFileSync(path.join(answers, TAG), 'utf8')
      assert.ok(tag.startsWith(`${SIGNATURE}\n`))
      for (const name of ['1', 'other']) writeFileSync(path.join(answers, name), 'x')
    }
  })
}

test('an edge cannot start in the folder of a running edge, but can after that one has ended', async (t) => {
  const edge = await startEdge(t, (_request, response) => {
    response.setHeader('Cache-Control', 'max-age=60').end('x'.repeat(100_000))
  })
  assert.equal((await edge.get('/')).cache, 'MISS')
  const pid = readFileSync(path.join(edge.directory, 'nginx.pid'), 'utf8').trim()
  const configuration = readFileSync(path.join(edge.directory, 'nginx.conf'), 'utf8')
  // The folder is refused under other names, too.
  const link = `${edge.directory}-link`
  symlinkSync(edge.directory, link)
  t.after(() => rmSync(link))
  for (const directory of [edge.directory, `${edge.directory}/`, link]) {
    const refused = new RegExp(`process ${pid}\\) already uses the folder.*stop it \\(kill ${pid}\\)`)
    await assert.rejects(prepare(directory), refused)
  }
  assert.equal(readFileSync(path.join(edge.directory, 'nginx.conf'), 'utf8'), configuration)
  assert.equal(readFileSync(path.join(edge.directory, 'nginx.pid'), 'utf8').trim(), pid)
  assert.equal((await edge.get('/')).cache, 'HIT')

  await edge.restart({ warm: false })
  assert.equal((await edge.get('/')).cache, 'MISS')
})

test('a pid file that does not name a running nginx does not keep an edge from using its folder', async (t) => {
  const { directory } = makeFolder(t)
  for (const text of [`${process.pid}\n`, '', 'x', '999999999\n']) {
    writeFileSync(path.join(directory, 'nginx.pid'), text)
    await prepare(directory)
  }
})

test('an nginx.conf that is not ours is not overwritten', async (t) => {
  const { directory, answers } = makeFolder(t)
  const configuration = path.join(directory, 'nginx.conf')
  writeFileSync(configuration, 'events {}\n')
  await assert.rejects(
    prepare(directory),
    /nginx\.conf is not one of stevec's, and was left as it is; choose another folder/
  )
  assert.equal(readFileSync(configuration, 'utf8'), 'events {}\n')
  assert.ok(!existsSync(answers))
})
