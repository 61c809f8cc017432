import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { exported, filesIn, imported, page, zipOf } from './archives.js'
import { get, save, useWiki } from './helper.js'

const wiki = useWiki()

test('an export has one file per page, with metadata, and a repeated export has the same bytes', async (t) => {
  const app = await wiki.build(t)
  await app.inject({ method: 'PUT', url: '/api/v1/pages/b', payload: { content: '# B\r\n', tags: ['y', 'x'] } })
  await save(app, 'b/c: d', 'text')
  await save(app, 'gone', 'text')
  await app.inject({ method: 'DELETE', url: '/api/v1/pages/gone' })
  for (const [from, to] of [['b', 'a'], ['a', 'new']]) {
    await app.inject({ method: 'POST', url: `/api/v1/pages/${from}/rename`, payload: { to } })
  }
  const answer = await get(app, '/api/v1/export')
  assert.equal(answer.headers['content-type'], 'application/zip')
  assert.equal(answer.headers['content-disposition'], 'attachment; filename="wiki.zip"')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const files = await filesIn(answer.rawPayload)
  assert.deepEqual([...files.keys()], ['b/c%3A d.md', 'new.md'])
  assert.match(
    String(files.get('new.md')),
    /^---\nname: new\ntags:\n {2}- x\n {2}- y\nrevision: 3\nmodified_at: \d{4}-\d\d-\d\dT[\d:.]+Z\nformer_names:\n {2}- a\n---\n# B\r\n$/
  )
  assert.deepEqual(await exported(app), answer.rawPayload)
  assert.equal((await app.inject({ method: 'HEAD', url: '/api/v1/export' })).statusCode, 200)
})

test('exported paths are valid and do not clash on any file system', async (t) => {
  const app = await wiki.build(t)
  const names = [
    'a', 'A', 'a.md/b', 'a/B', 'A/b', 'CON', 'aux.txt/nul', 'com1', '.git/config', 'x. ./y', 'dots...', 'a*b?c|d"e<f>',
    'C:/x', '100%', '%41', 'Straße', 'STRASSE', 'ž'.repeat(200), 'Ž'.repeat(200), '😀'.repeat(100) + '/' + '😀'.repeat(99)
  ]
  for (const name of names) assert.ok((await save(app, name, 'text')).statusCode < 300, name)
  const paths = [...(await filesIn(await exported(app))).keys()]
  assert.equal(paths.length, new Set(names).size)
  assert.equal(new Set(paths.map((path) => path.toUpperCase().toLowerCase())).size, paths.length)
  for (const path of paths) {
    for (const part of path.split('/')) {
      assert.ok(Buffer.byteLength(part) <= 255, part)
      assert.doesNotMatch(part, /[<>:"|?*\\\p{Cc}]|[. ]$|^\.|^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/iu)
    }
    assert.ok(
      !paths.some((other) => other.toLowerCase().startsWith(`${path.toLowerCase()}/`)),
      `${path} is a file and a folder`
    )
  }
})

test('an import reads files with and without front matter, skips unchanged pages and obeys on_conflict', async (t) => {
  const app = await wiki.build(t)
  const zip = await zipOf([
    ['Notes/a%2Fb 100%.md', 'from the path'],
    ['x.MD', '---\nname: Žabe/Ena\ntags: [Two, one]\ntitle: ignored\n---\ntext\n'],
    ['2024.md', '---\r\nname: 2024\r\ntags: 1, 2\r\n---\r\nyear'],
    ['rule.md', '---\nnot front matter\n---\ntext'],
    ['one-rule.md', '---\ntext'],
    ['bom.md', '\ufefftext']
  ])
  const first = await imported(app, zip, '?author=Ana&summary=notes')
  assert.deepEqual(first.lines.map(({ name, result, revision }) => [name, result, revision]), [
    ['Notes/a%2Fb 100%', 'created', 1],
    ['Žabe/Ena', 'created', 1],
    ['2024', 'created', 1],
    ['rule', 'created', 1],
    ['one-rule', 'created', 1],
    ['bom', 'created', 1]
  ])
  assert.deepEqual(first.totals, { done: true, created: 6, replaced: 0, unchanged: 0, kept: 0, refused: 0 })
  const { content, tags } = await page(app, 'Žabe/Ena')
  assert.deepEqual([content, tags], ['text\n', ['one', 'two']])
  assert.equal((await page(app, 'rule')).content, '---\nnot front matter\n---\ntext')
  assert.equal((await page(app, 'bom')).content, 'text')
  const [change] = (await get(app, '/api/v1/changes?limit=1')).json().items
  assert.deepEqual([change.author, change.summary], ['Ana', 'notes'])

  assert.deepEqual((await imported(app, zip)).totals, { ...first.totals, created: 0, unchanged: 6 })
  await app.inject({ method: 'PUT', url: '/api/v1/pages/2024', payload: { content: 'changed' } })
  await app.inject({ method: 'DELETE', url: '/api/v1/pages/bom' })
  assert.deepEqual(
    (await imported(app, zip, '?on_conflict=keep')).totals,
    { ...first.totals, created: 1, unchanged: 4, kept: 1 }
  )
  await app.inject({
    method: 'PUT',
    url: '/api/v1/pages/rule',
    payload: { content: '---\nnot front matter\n---\ntext', tags: ['only the tags differ'] }
  })
  const failing = await imported(app, zip, '?on_conflict=fail')
  assert.match(failing.lines[2].reason, /There is a page “2024” with another text/)
  assert.deepEqual((await imported(app, zip)).totals, { ...first.totals, created: 0, unchanged: 5, replaced: 1 })
})

test('importing an export recreates the same pages, for generated names, texts and tags', async (t) => {
  const [from, to] = [await wiki.build(t), await wiki.build(t)]
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
  const name = fc.oneof(
    word,
    fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
    fc.constantFrom(
      'true', '- a', '#', '---', 'a: b', '!x', '*a', '&a', '"', "'", '~', 'null', '0x1', '2024-01-01'
    )
  )
  const content = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.constantFrom('---\n', '---\nname: x\n---\n', '\ufeffx', '\r\n', '\0', '---\r\n---\r\n')
  )
  const tags = fc.array(fc.string({ unit: 'grapheme', maxLength: 20 }), { maxLength: 5 })
  const known = (/** @type {Map<string, string>} */ files) =>
    [...files].map(([path, text]) => [path, text.replace(/^(revision|modified_at): .*\n/gm, '')])
  let saved = 0
  await fc.assert(fc.asyncProperty(fc.array(
    fc.record({ name, content, tags }),
    { minLength: 1, maxLength: 5 }
  ), async (pages) => {
    for (const { name, ...fields } of pages) {
      const { statusCode, body } = await from.inject({
        method: 'PUT',
        url: `/api/v1/pages/${encodeURIComponent(name)}`,
        payload: fields
      })
      assert.ok([200, 201, 400].includes(statusCode), body)
      if (statusCode !== 400) saved++
    }
    const zip = await exported(from)
    const { totals } = await imported(to, zip)
    assert.deepEqual([totals.done, totals.refused], [true, 0])
    assert.deepEqual(known(await filesIn(await exported(to))), known(await filesIn(zip)))
    assert.equal((await imported(from, zip)).totals.unchanged, (await filesIn(zip)).size)
  }), { numRuns: 10, seed: 7, endOnFailure: true })
  assert.ok(saved > 10, `only ${saved} pages were saved`)
})
