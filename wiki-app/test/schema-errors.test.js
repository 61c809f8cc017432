import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, useWiki } from './helper.js'

const wiki = useWiki()

test('a request that does not fit gets a sentence that says what does', async (t) => {
  const app = await wiki.build(t)
  const put = async (/** @type {object} */ payload) =>
    (await app.inject({ method: 'PUT', url: '/api/v1/pages/a', payload })).json().detail
  assert.equal(await put({ text: 'x' }), 'The field “content” is missing.')
  assert.equal(await put({ content: 'x', colour: 'red' }), '“colour” is not known here.')
  assert.equal(await put({ content: 7 }), '“content” must be a text.')
  assert.equal(await put({ content: '' }), '“content” must not be empty.')
  assert.equal(await put({ content: 'x', tags: Array(21).fill('a') }), '“tags” has more than 20 items.')
  assert.equal(await put({ content: 'x', summary: 'x'.repeat(201) }), '“summary” is longer than 200 characters.')
  assert.equal(await put({ content: 'x', author: 'a\nb' }), '“author” has a value that is not allowed here.')
  const read = async (/** @type {string} */ url) => (await get(app, url)).json().detail
  assert.equal(await read('/api/v1/pages?limit=0'), '“limit” is smaller than 1 in the address.')
  assert.equal(await read('/api/v1/pages?limit=101'), '“limit” is larger than 100 in the address.')
  assert.equal(await read('/api/v1/pages?limit=many'), '“limit” must be a whole number in the address.')
  assert.equal(await read('/api/v1/pages?page=2'), '“page” is not known here in the address.')
  assert.equal(await read(`/search?q=${'a'.repeat(201)}`), '“q” is longer than 200 characters in the address.')
  assert.match((await get(app, '/history/a?before=x', BROWSER)).body,
    /<p>“before” has a value that is not allowed here in the address\.<\/p>/)
  // What a client sends is shown, not run.
  assert.match(await put({ content: 'x', '<b>': 1 }), /^“<b>” is not known here\.$/)
})
