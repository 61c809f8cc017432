import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, useWiki } from './helper.js'
import { post } from './people.js'

const wiki = useWiki()

test('a page is renamed and deleted with forms, and the history shows the author and the reason', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'old', 'text')
  const rename = await get(app, '/edit/rename/old', BROWSER)
  assert.equal(rename.headers['cache-control'], 'private, no-store')
  assert.match(rename.body, /<form method="post" action="\/edit\/rename\/old">/)
  assert.match(rename.body, /name="base_revision" value="1"/)
  assert.match(rename.body, /name="to" [^>]*value="old"/)
  const renamed = await post(app, '/edit/rename/old', {
    to: 'new', base_revision: '1', author: 'Ana', summary: 'a better name'
  })
  assert.equal(renamed.headers.location, '/wiki/new?saved=2')

  const remove = await get(app, '/edit/delete/new', BROWSER)
  assert.match(remove.body, /name="base_revision" value="2"/)
  assert.match(remove.body, /<button class="danger">Delete “new”<\/button>/)
  const removed = await post(app, '/edit/delete/new', { base_revision: '2', author: 'Bo', summary: 'no longer true' })
  assert.equal(removed.headers.location, '/history/new', 'where the page can be brought back')
  assert.match(
    (await get(app, '/history/new')).body,
    /revision 3[^]*>Bo<[^]*no longer true[^]*revision 2[^]*>Ana<[^]*a better name/
  )
})

test('the forms are refused for a missing or changed page, and redirect to the canonical name', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a b', 'one')
  for (const what of ['rename', 'delete']) {
    assert.equal((await get(app, `/edit/${what}/none`, BROWSER)).statusCode, 404)
    assert.equal((await get(app, `/edit/${what}/stevec`, BROWSER)).statusCode, 400)
    const other = await get(app, `/edit/${what}/%20a%20%20b`, BROWSER)
    assert.deepEqual([other.statusCode, other.headers.location], [303, `/edit/${what}/a%20b`])
  }
  await save(app, 'a b', 'two')
  const fields = { to: 'c', base_revision: '1' }
  assert.equal((await post(app, '/edit/rename/a%20b', fields)).statusCode, 412)
  assert.equal((await post(app, '/edit/delete/a%20b', { base_revision: '1' })).statusCode, 412)
  assert.equal((await get(app, '/wiki/a%20b')).headers['page-revision'], '2')
})

test('a program that deletes a page by its base revision deletes no newer one', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'one')
  await save(app, 'a', 'two')
  const remove = (/** @type {number} */ revision) =>
    app.inject({ method: 'DELETE', url: '/wiki/a', payload: { base_revision: revision } })
  assert.equal((await remove(1)).statusCode, 412)
  assert.equal((await remove(2)).statusCode, 204)
})
