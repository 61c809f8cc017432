import assert from 'node:assert/strict'
import test from 'node:test'
import { get, save, untilIndexed, useWiki } from './helper.js'

const wiki = useWiki()

/** @param {string} body */
const textHits = (body) => [
  ...body.slice(body.indexOf('<h2>In texts')).matchAll(/<li><a href="[^"]*" dir="auto">([^<]*)<\/a>/g)
].map(([, name]) => name)

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {string} q
 */
const search = (app, q) => get(app, `/search?q=${encodeURIComponent(q)}`)

test('a search finds words in titles and texts, in any case and language, and shows excerpts', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Bees', 'They make **honey**. Nobody else does.')
  await save(app, 'Honey badger', 'Eats what bees make.')
  await save(app, 'Čebele', 'Čebele delajo med, the bees.')
  await untilIndexed(app)
  const { body, statusCode } = await search(app, 'honey')
  assert.equal(statusCode, 200)
  assert.match(body, /<h2>In titles<\/h2>[^]*>Honey badger<[^]*<h2>In texts<\/h2>/)
  assert.deepEqual(textHits(body).sort(), ['Bees', 'Honey badger'])
  assert.match(body, /They make <mark>honey<\/mark>\. Nobody/)
  assert.deepEqual(textHits((await search(app, 'ČEBELE')).body), ['Čebele'])
  assert.deepEqual(textHits((await search(app, 'the')).body), ['Čebele'], 'common words are found, too')
  assert.deepEqual(textHits((await search(app, 'bees -honey')).body).sort(), ['Čebele'].sort())
  assert.deepEqual(textHits((await search(app, '"what bees"')).body), ['Honey badger'])
  assert.match((await search(app, 'zebra')).body,
    /No text has these words, or other forms of them\. Parts[^]*name="name"[^>]*value="zebra"/)
})

test('titles and texts are found without accents, titles also by the beginnings of their words', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'Čebela', 'Leti. Imamo čebele.')
  await save(app, 'Dolgi rok čebele', 'Our team.')
  await save(app, 'Đorđe', 'x')
  await save(app, 'The team', 'x')
  await untilIndexed(app)
  const titles = async (/** @type {string} */ q) => {
    const [, shown] = /<h2>In titles<\/h2>([^]*?)<h2>/.exec((await search(app, q)).body) ?? []
    return [...shown.matchAll(/<li><a href="[^"]*" dir="auto">([^<]*)<\/a>/g)].map(([, name]) => name)
  }
  assert.deepEqual(await titles('cebela'), ['Čebela'])
  assert.deepEqual(await titles('CEBE'), ['Čebela', 'Dolgi rok čebele'])
  assert.deepEqual(await titles('dolgi cebe'), ['Dolgi rok čebele'])
  assert.deepEqual(await titles('cebe -dolgi'), ['Čebela'])
  assert.deepEqual(await titles('tea'), ['The team'])
  assert.deepEqual(await titles('dorde'), ['Đorđe'])
  assert.match((await search(app, 'cebele')).body, /Imamo <mark>čebele<\/mark>\./)
  assert.deepEqual(textHits((await search(app, 'tea')).body), [], 'texts are found by whole words')
  const names = async (/** @type {string} */ q) =>
    (await get(app, `/api/v1/pages?q=${q}`)).json().items.map((/** @type {{name: string}} */ { name }) => name)
  assert.deepEqual(await names('cebe'), ['Čebela', 'Dolgi rok čebele'])
})

test('what is written without spaces is found within a longer run, in titles and in texts', async (t) => {
  const app = await wiki.build(t)
  for (const [name, content] of [
    ['用nginx做缓存', '这台服务器的**缓**存配置在这里。'],
    ['缓', '存储与缓慢'],
    ['Talk:用nginx做缓存', '缓存缓存缓存缓存'],
    ['nginx', 'Its cache: nginx的\n缓存, and more of nginx.'],
    ['吉野家', '東京の\u{20BB7}野家はﾗｰﾒﾝのお店ではありません。ＡＢＣ１２３'],
    ['ร้าน', 'ร้านกาแฟที่มีน้ำดื่ม'],
    ['여행', '서울에서 왔다'],
    ['시청', '서울시청 앞']
  ]) assert.equal((await save(app, name, content)).statusCode, 201)
  await untilIndexed(app)
  const found = async (/** @type {string} */ q) => textHits((await search(app, q)).body)
  assert.deepEqual(await found('缓存'), ['用nginx做缓存', 'nginx', 'Talk:用nginx做缓存'], 'talk comes last')
  assert.deepEqual(await found('配置'), ['用nginx做缓存'])
  assert.deepEqual(await found('缓存 -配置'), ['nginx', 'Talk:用nginx做缓存'])
  assert.deepEqual((await found('nginx 配置')).sort(), ['Talk:用nginx做缓存', 'nginx', '用nginx做缓存'])
  assert.deepEqual(await found('"nginx 的缓存"'), ['nginx'])
  assert.deepEqual(await found('nginx的缓存'), ['nginx'])
  for (const q of ['東京', 'ラーメン', 'ﾗｰﾒﾝ', 'お店', '\u{20BB7}', '\u{20BB7}野家', 'abc123']) {
    assert.deepEqual(await found(q), ['吉野家'], q)
  }
  for (const q of ['กาแฟ', 'น้ำ']) assert.deepEqual(await found(q), ['ร้าน'], q)
  for (const q of ['การ', 'นำ', '京東', '置配']) assert.deepEqual(await found(q), [], q)
  assert.deepEqual(await found('서울'), ['여행'], 'Korean: words, with what stands at their end')

  for (const [q, hit] of [
    ['缓存', '的<mark>缓存</mark>配'], ['缓存', '的 <mark>缓存</mark>,'],
    ['\u{20BB7}', 'の<mark>\u{20BB7}</mark>野'], ['ａｂｃ123', '<mark>ＡＢＣ１２３</mark>'],
    ['ﾗｰﾒﾝ', 'は<mark>ﾗｰﾒﾝ</mark>の'], ['น้ำ', 'มี<mark>น้ำ</mark>ดื่ม'],
    ['서울', '<mark>서울에서</mark> 왔다']
  ]) assert.ok((await search(app, q)).body.includes(hit), hit)
  assert.doesNotMatch((await search(app, '缓村 缓 顶')).body, /Did you mean/)
  const { items } = (await get(app, `/api/v1/pages?q=${encodeURIComponent('缓存 nginx')}`)).json()
  const names = items.map((/** @type {{name: string}} */ { name }) => name)
  assert.deepEqual(names, ['Talk:用nginx做缓存', '用nginx做缓存'])
})

test('search results follow saves, renames and deletions', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'unicorn')
  await save(app, 'a', 'horse')
  await untilIndexed(app)
  assert.deepEqual(textHits((await search(app, 'unicorn')).body), [])
  await app.inject({ method: 'POST', url: '/edit/rename/a', payload: { to: 'b' } })
  await untilIndexed(app)
  assert.deepEqual(textHits((await search(app, 'horse')).body), ['b'])
  await app.inject({ method: 'DELETE', url: '/wiki/b' })
  await untilIndexed(app)
  assert.deepEqual(textHits((await search(app, 'horse')).body), [])
})

test('many hits come in parts that neither skip nor repeat a page', async (t) => {
  const app = await wiki.build(t)
  for (let index = 0; index < 25; index++) await save(app, `p${index}`, 'common word')
  await untilIndexed(app)
  const first = (await search(app, 'common')).body
  const [, next] = /<a href="([^"]*)" rel="next">/.exec(first) ?? []
  const names = [...textHits(first), ...textHits((await get(app, next.replaceAll('&amp;', '&'))).body)]
  assert.equal(names.length, 25)
  assert.equal(new Set(names).size, 25)
})

test('a search query is only text, in the database query and in the HTML', async (t) => {
  const app = await wiki.build(t)
  await save(app, 'a', 'say <script>alert(1)</script> or "x" onmouseover=alert(1)')
  await untilIndexed(app)
  for (const q of [
    '<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '{"$ne":1}', '$where', '(((((', '"', '-', '\\',
    'a'.repeat(200), '.*', '%', '-a -b -c', '"" ""'
  ]) {
    const { statusCode, body } = await search(app, q)
    assert.equal(statusCode, 200, q)
    assert.doesNotMatch(body, /<script(?! type="module" src="\/assets\/)|<img|<mark>[^<]*<(?!\/mark)/)
  }
  for (const url of [
    '/search?q[$ne]=1', '/search?q=a&q=b', '/search?q=a&part=0', '/search?q=a&part[]=1',
    `/search?q=${'a'.repeat(201)}`, '/search?q=%00'
  ]) {
    const { statusCode } = await get(app, url)
    assert.equal(statusCode, url.includes('[') ? 301 : 400, url)
  }
  assert.equal((await get(app, '/search?q=a&part=999')).statusCode, 200)
})
