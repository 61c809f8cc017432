import assert from 'node:assert/strict'
import test from 'node:test'
import { BROWSER, get, save, submit, useWiki } from './helper.js'

const wiki = useWiki()

test('a page is created, replaced, deleted and recreated; its revision only increases', async (t) => {
  const app = await wiki.build(t)

  const created = await save(app, 'a b', 'čaj')
  assert.equal(created.statusCode, 201)
  assert.equal(created.headers.location, '/wiki/a%20b')
  assert.equal(created.headers['cache-control'], 'private, no-store')
  assert.deepEqual(created.json(), { name: 'a b', revision: 1, content_bytes: 4, created: true })

  const replaced = await save(app, 'a b', 'more')
  assert.equal(replaced.statusCode, 200)
  assert.equal(replaced.headers.location, undefined)
  assert.deepEqual(replaced.json(), { name: 'a b', revision: 2, content_bytes: 4, created: false })

  const deleted = await app.inject({ method: 'DELETE', url: '/wiki/a%20b' })
  assert.equal(deleted.statusCode, 204)
  assert.equal(deleted.body, '')
  assert.equal(deleted.headers['page-revision'], '3')
  assert.equal((await get(app, '/wiki/a%20b')).statusCode, 404)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/a%20b' })).statusCode, 404)

  const again = await save(app, 'a b', 'once more')
  assert.equal(again.statusCode, 201)
  assert.equal(again.json().revision, 4)
  assert.equal((await get(app, '/wiki/a%20b')).headers['page-revision'], '4')
})

test('a page can be saved as Markdown, JSON or form data', async (t) => {
  const app = await wiki.build(t)
  const post = (/** @type {string} */ type, /** @type {string} */ payload) =>
    app.inject({ method: 'POST', url: '/wiki/a', headers: { 'content-type': type }, payload })
  for (const [type, payload] of [
    ['text/markdown', '*a* & "b" +1'],
    ['text/markdown; charset=UTF-8; variant=CommonMark', '*a* & "b" +1'],
    ['application/json', '{"content":"*a* & \\"b\\" +1"}'],
    ['application/x-www-form-urlencoded', 'content=*a*+%26+%22b%22+%2B1']
  ]) {
    const { statusCode } = await post(type, payload)
    assert.ok(statusCode === 201 || statusCode === 200, type)
    assert.match((await get(app, '/wiki/a')).body, /<p><em>a<\/em> &amp; "b" \+1<\/p>/, type)
  }
})

test('a body that is not a valid text gets 400 or 415 and changes nothing', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'before')
  for (const [status, type, payload] of /** @type {[number, string | undefined, string | Buffer][]} */ ([
    [415, 'text/plain', 'x'],
    [415, 'text/html', 'x'],
    [415, 'multipart/form-data; boundary=x', '--x--'],
    [415, 'nonsense', 'x'],
    [415, undefined, 'x'],
    [400, undefined, ''],
    [400, 'text/markdown', ''],
    [400, 'text/markdown', Buffer.from([0x61, 0xff])],
    [400, 'text/markdown', Buffer.from([0xed, 0xa0, 0x80])],
    [400, 'application/json', ''],
    [400, 'application/json', '{'],
    [400, 'application/json', 'null'],
    [400, 'application/json', '[]'],
    [400, 'application/json', '"x"'],
    [400, 'application/json', '{}'],
    [400, 'application/json', '{"content":""}'],
    [400, 'application/json', '{"content":null}'],
    [400, 'application/json', '{"content":1}'],
    [400, 'application/json', '{"content":["x"]}'],
    [400, 'application/json', '{"content":{"$ne":1}}'],
    [400, 'application/json', '{"content":"x","revision":99}'],
    [400, 'application/json', '{"content":"x","$set":{"revision":99}}'],
    [400, 'application/json', '{"content":"x","__proto__":{"a":1}}'],
    [400, 'application/json', '{"content":"\\ud800"}'],
    [400, 'application/x-www-form-urlencoded', 'text=x'],
    [400, 'application/x-www-form-urlencoded', 'content='],
    [400, 'application/x-www-form-urlencoded', 'content=x&content=y'],
    [400, 'application/x-www-form-urlencoded', 'content=x&name=y']
  ])) {
    const answer = await app.inject({
      method: 'POST',
      url: '/wiki/a',
      headers: type === undefined ? {} : { 'content-type': type },
      payload
    })
    assert.equal(answer.statusCode, status, `${type} ${payload}: ${answer.body}`)
    assert.equal(answer.json().status, status)
  }
  assert.equal((await get(app, '/wiki/a')).headers['page-revision'], '1')
})

test('PAGE_MAX_BYTES limits the decoded text; an encoded body may be longer', async (t) => {
  const app = await wiki.build(t, { PAGE_MAX_BYTES: '1000' })
  const post = async (/** @type {string} */ type, /** @type {string} */ payload) =>
    (await app.inject({ method: 'POST', url: '/wiki/a', headers: { 'content-type': type }, payload })).statusCode
  const umlauts = 'ä'.repeat(500)
  assert.equal(await post('text/markdown', umlauts), 201)
  assert.equal(await post('text/markdown', `${umlauts}b`), 413)
  assert.equal(await post('application/json', JSON.stringify({ content: umlauts })), 200)
  assert.equal(await post('application/json', JSON.stringify({ content: `${umlauts}b` })), 413)
  assert.equal(await post('application/json', `{"content":"a"}${' '.repeat(3000)}`), 413)
  // An `ä` takes six bytes in a form. 490 of them and the field's name stay below the limit of encoded bodies,
  // 3 × PAGE_MAX_BYTES.
  assert.equal(
    await post('application/x-www-form-urlencoded', new URLSearchParams({ content: 'ä'.repeat(490) }).toString()),
    200
  )
  assert.equal(
    await post('application/x-www-form-urlencoded', new URLSearchParams({ content: 'a'.repeat(1001) }).toString()),
    413
  )
  assert.equal(
    await post('application/x-www-form-urlencoded', new URLSearchParams({ content: 'ä'.repeat(501) }).toString()),
    413
  )
})

test('a body with a too large Content-Length gets 413 before it arrives', async (t) => {
  const app = await wiki.build(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = /** @type {import('node:net').AddressInfo} */ (app.server.address())
  const { connect } = await import('node:net')
  const answer = await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('POST /wiki/a HTTP/1.1\r\nHost: a\r\n' +
      'Content-Type: text/markdown\r\nContent-Length: 1048577\r\n\r\n'))
    socket.once('data', (data) => { resolve(data.toString()); socket.destroy() }).once('error', reject)
  })
  assert.match(answer, /^HTTP\/1\.1 413 /)
})

test('of 50 concurrent saves of a new page, one creates it and each gets its own revision', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a', 'b', 'c']) {
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => save(app, name, `text ${i}`)))
    assert.equal(answers.filter(({ statusCode }) => statusCode === 201).length, 1)
    assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 49)
    assert.deepEqual(
      answers.map((answer) => answer.json().revision).sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, i) => i + 1)
    )
    assert.equal((await get(app, `/wiki/${name}`)).headers['page-revision'], '50')
  }
})

test('a page can be created, opened for editing and deleted with plain HTML forms', async (t) => {
  const app = await wiki.build(t)

  const toForm = await get(app, '/edit/new?name=+My++caf%C3%A9+', BROWSER)
  assert.equal(toForm.statusCode, 303)
  assert.equal(toForm.headers.location, '/edit/text/My%20caf%C3%A9')

  const form = await get(app, '/edit/text/My%20caf%C3%A9', BROWSER)
  assert.equal(form.statusCode, 200)
  assert.equal(form.headers['cache-control'], 'private, no-store')
  assert.match(form.body, /<h1[^>]*>Create “My café”<\/h1>/)
  assert.match(form.body, /<form [^>]*method="post" action="\/edit\/text\/My%20caf%C3%A9">/)
  assert.match(form.body, /<textarea [^>]*>\n<\/textarea>/)
  assert.doesNotMatch(form.body, /Delete/)

  const saved = await submit(app, 'My café', { content: '\r\none\r\ntwo & <three>\r\n' })
  assert.equal(saved.statusCode, 303)
  assert.equal(saved.headers.location, '/wiki/My%20caf%C3%A9?saved=1')
  assert.equal(saved.headers['cache-control'], 'private, no-store')
  const seen = await get(app, String(saved.headers.location), BROWSER)
  assert.match(
    seen.body,
    /Saved as revision 1\. This address shows it\. Elsewhere you .* previous text for up to 3 minutes: /
  )
  assert.match(seen.body, /<p>one\ntwo &amp; &lt;three&gt;<\/p>/)

  const edit = await get(app, '/edit/text/My%20caf%C3%A9', BROWSER)
  // HTML drops the first line break after the tag; the second one belongs to the text.
  assert.match(edit.body, /<textarea [^>]*>\n\none\ntwo &amp; &lt;three&gt;\n<\/textarea>/)
  assert.match(
    (await get(app, '/edit/delete/My%20caf%C3%A9', BROWSER)).body,
    /<form method="post" action="\/edit\/delete\/My%20caf%C3%A9">[^]*<button class="danger">Delete “My café”/
  )

  const deleted = await app.inject({
    method: 'POST',
    url: '/edit/delete/My%20caf%C3%A9',
    headers: { ...BROWSER, 'content-type': 'application/x-www-form-urlencoded' },
    payload: ''
  })
  assert.equal(deleted.statusCode, 303)
  assert.equal(deleted.headers.location, '/history/My%20caf%C3%A9', 'the history, where the page can be restored')
  assert.equal((await get(app, '/wiki/My%20caf%C3%A9', BROWSER)).statusCode, 404)
  assert.equal(
    (await app.inject({ method: 'POST', url: '/edit/delete/My%20caf%C3%A9', headers: BROWSER })).statusCode,
    404
  )
})

test('the form for a new page asks for a valid name; an edit URL redirects to the canonical name', async (t) => {
  const app = await wiki.build(t)
  const form = await get(app, '/edit/new', BROWSER)
  assert.match(form.body, /<form class="new writes" action="\/edit\/new">/)
  assert.equal((await get(app, '/edit/new?name=', BROWSER)).statusCode, 400)
  assert.equal((await get(app, '/edit/new?name=a&name=b', BROWSER)).statusCode, 400)
  assert.equal((await get(app, '/edit/new?name=stevec', BROWSER)).statusCode, 400)
  const other = await get(app, '/edit/text/%20a', BROWSER)
  assert.equal(other.statusCode, 303)
  assert.equal(other.headers.location, '/edit/text/a')
})

test('a page’s text cannot close the textarea of its edit form', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', '</textarea><script>alert(1)</script>')
  const { body } = await get(app, '/edit/text/a')
  assert.ok(body.includes('&lt;/textarea&gt;&lt;script&gt;'))
  assert.doesNotMatch(body, /<script(?! type=)/)
})

test('a write goes to the page with the canonical name', async (t) => {
  const app = await wiki.build(t)
  assert.equal((await save(app, '  S\u030Ctevec ', 'text')).json().name, '\u0160tevec')
  assert.equal((await save(app, '\u0160tevec', 'text')).json().revision, 2)
  assert.equal((await app.inject({ method: 'DELETE', url: '/wiki/%20S%CC%8Ctevec' })).statusCode, 204)
})

test('an invalid page name gets a 4xx when it is viewed, saved, edited or deleted', async (t) => {
  const app = await wiki.build(t)
  for (const name of [
    '%00', 'a%00b', 'a%0Ab', '..%2f..%2fetc%2fpasswd', 'a%2F%2Fb', 'a/', '/a', 'a%2F.%2Fb', 'a%2F..%2Fb', 'a%5Cb',
    '%ED%A0%80', '%ff', '%', '%zz', '%20', '%E2%80%AE', 'a'.repeat(201), '%F0%9F%98%80'.repeat(201), ''
  ]) {
    for (const { statusCode, headers } of [
      // Without a name the address leads to the home page.
      ...name === '' ? [] : [await get(app, `/wiki/${name}`)],
      await app.inject({
        method: 'POST',
        url: `/wiki/${name}`,
        headers: { 'content-type': 'text/markdown' },
        payload: 'x'
      }),
      await app.inject({ method: 'DELETE', url: `/wiki/${name}` }),
      await get(app, `/edit/text/${name}`),
      await app.inject({ method: 'POST', url: `/edit/delete/${name}` })
    ]) {
      assert.ok(statusCode >= 400 && statusCode < 500, `${name}: ${statusCode}`)
      assert.equal(headers['cache-control'], 'no-store')
    }
  }
})

test('a name may have 200 characters of any script', async (t) => {
  const app = await wiki.build(t)
  for (const name of ['a'.repeat(200), '字'.repeat(200), '😀'.repeat(200)]) {
    assert.equal((await save(app, name, 'text')).statusCode, 201)
    assert.equal((await get(app, `/wiki/${encodeURIComponent(name)}`)).statusCode, 200)
  }
})
