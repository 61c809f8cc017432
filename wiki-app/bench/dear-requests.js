import mongoose from 'mongoose'
import yazl from 'yazl'
import { hashOf } from '../src/http/hash.js'
import toHtml from '../src/markdown/html.js'
import { RENDERER_VERSION } from '../src/markdown/version.js'
import { defineModels } from '../src/pages/model.js'
import {
  differenceUrl, editUrl, historyUrl, linksUrl, rawUrl, revisionUrl, viewUrl
} from '../src/pages/name.js'
import { searchKey } from '../src/pages/search-key.js'
import { nameOf } from './fill.js'

const MIB = 1_048_576
const FORM = 'application/x-www-form-urlencoded'
const MARKDOWN = { 'content-type': 'text/markdown' }
const JSON_TYPE = { 'content-type': 'application/json' }
const PEOPLE = { accept: 'text/html', 'content-type': FORM }
const REVISIONS = 8
/** The user whose password is guessed. */
export const USER = 'Ana'
/** More than one part of a search result has, in HTML or in the API. */
const HAYSTACKS = 110

/** @typedef {{method?: string, path: string, headers?: Record<string, string>, body?: string | Buffer}} Request */

const below = (/** @type {number} */ count) => Math.floor(Math.random() * count)
const ofLength = (/** @type {number} */ length, /** @type {() => string} */ piece) => {
  let text = ''
  while (text.length < length) text += piece()
  return text.slice(0, length)
}
/** By name, texts that are costly to render, compare, show or search; each call returns another one. */
const TEXTS = {
  'Short lines': () => ofLength(MIB, () => `${below(36).toString(36)}\n`),
  Prose: () => ofLength(MIB, () =>
    `Paragraph ${below(1e6)} with [a link](https://example.org/) and *an emphasis*, and ` +
    `${'some more words '.repeat(20)}\n\n`),
  Markup: () => ofLength(200_000, () =>
    `- [[page ${below(1e4)}]] **a _b_** \`c\` [d](e)\n\n| a | b |\n|---|---|\n| ${below(10)} | x |\n\n`),
  Escapes: () => ofLength(700_000, () => `&<>"'&&&&${below(10)} `)
}
const NAMES = /** @type {(keyof typeof TEXTS)[]} */ (Object.keys(TEXTS))

/** Previews of these are refused, or have far more HTML than Markdown. */
const HOSTILE = {
  references: `[a]: ${'x'.repeat(2_000)}\n\n${'[a] '.repeat(1_500)}`.slice(0, 8_000),
  pictures: '!['.repeat(MIB / 2),
  nested: `${'>'.repeat(30)}a\n\n`.repeat(250),
  'red links': '[[not written]]\n'.repeat(MIB / 16 - 1_000),
  code: `\`\`\`js\n${'a(/[/]/, `b`);\n'.repeat(400)}\`\`\`\n`
}

const FRONT_MATTER_ZIP = await zipped(Array.from({ length: 20 }, (_, file) => [
  `${file}.md`,
  `---\n${Array.from({ length: 3_000 }, (_, key) => `k${key}: v\n`).join('')}name: 1\nname: 2\n---\ntext`
]))

/** @param {string[][]} files  paths and texts */
async function zipped (files) {
  const zip = new yazl.ZipFile()
  for (const [path, text] of files) zip.addBuffer(Buffer.from(text), path)
  zip.end()
  return Buffer.concat(await /** @type {import('node:stream').Readable} */ (zip.outputStream).toArray())
}

/**
 * Adds the pages that make requests costly to a filled wiki.
 * @param {string} uri  of the database
 */
export async function fillDear (uri) {
  const connection = await mongoose.createConnection(uri).asPromise()
  const { Pages, Revisions } = defineModels(connection)
  try {
    for (const name of NAMES) {
      let content = ''
      for (let revision = 1; revision <= REVISIONS; revision++) {
        content = TEXTS[name]()
        await Revisions.insertMany([{
          page: name,
          revision,
          follows: revision === 1 ? null : revision - 1,
          content,
          content_bytes: Buffer.byteLength(content),
          tags: [],
          author: 'Dear',
          summary: '',
          deleted: false,
          created_at: new Date()
        }], { lean: true })
      }
      await Pages.insertMany([pageOf(name, content, REVISIONS)], { lean: true })
    }
    const hay = `${ofLength(MIB - 10, () => `hay${below(100)} `)} needle`
    for (let number = 0; number < HAYSTACKS; number++) {
      await Pages.insertMany(
        [{ ...pageOf(`Haystack ${number}`, '', 1), content: hay, content_bytes: hay.length }],
        { lean: true }
      )
    }
  } finally {
    await connection.close()
  }
}

/**
 * @param {string} name
 * @param {string} content
 * @param {number} revision
 */
function pageOf (name, content, revision) {
  const html = Buffer.from(toHtml({ markdown: content, maxBytes: 16 * MIB }).html)
  const at = new Date()
  return {
    _id: name,
    search_key: searchKey(name),
    revision,
    content,
    content_bytes: Buffer.byteLength(content),
    tags: [],
    links: [],
    html,
    html_hash: hashOf(html),
    renderer: RENDERER_VERSION,
    rendered_at: at,
    created_at: at,
    modified_at: at,
    deleted_at: null,
    redirect_to: null
  }
}

/**
 * Returns requests that an anonymous client can send and that are costly, or look so, and cheap ones to compare. Where
 * possible, each call returns a different request, so that no cache answers it.
 * @param {number} pages  of the filled wiki
 * @returns {{title: string, request: () => Request}[]}
 */
// eslint-disable-next-line max-lines-per-function -- a table of requests
export function dearRequests (pages) {
  const anyOf = (/** @type {readonly string[]} */ names) => names[below(names.length)]
  const revision = () => 1 + below(REVISIONS)
  const deep = () => encodeURIComponent(nameOf(below(pages)))
  const api = (/** @type {string} */ path) => `/api/v1${path}`
  const gets = /** @type {Record<string, () => string>} */ ({
    'a short page': () => viewUrl(nameOf(below(pages))),
    'a short page, ?r=': () => `${viewUrl(nameOf(below(pages)))}?r=${below(1e9)}`,
    'a page of 1 MiB': () => viewUrl(anyOf(['Prose', 'Short lines'])),
    'a page that is not there': () => viewUrl(`missing ${below(1e9)}`),
    'an address that is not there': () => `/nowhere/${below(1e9)}`,
    ...Object.fromEntries(NAMES.flatMap((name) => [
      [`revision: ${name}`, () => revisionUrl(name, revision())],
      [`revision: ${name}, ?r=`, () => `${revisionUrl(name, revision())}?r=${below(1e9)}`],
      [`difference: ${name}`, () => differenceUrl(name, revision(), revision())],
      [
        `difference, API: ${name}`,
        () => api(`/pages/${encodeURIComponent(name)}/difference?from=${revision()}&to=${revision()}`)
      ]
    ])),
    'revision of a short page': () => revisionUrl(nameOf(below(pages)), 1),
    'difference of short pages': () => differenceUrl(nameOf(below(pages)), 1, 2),
    'revision, API': () => api(`/pages/Prose/revisions/${revision()}`),
    'source, API': () => api('/pages/Escapes'),
    'source: /raw': () => rawUrl('Prose'),
    history: () => historyUrl('Prose'),
    'history, API': () => api('/pages/Prose/revisions?limit=100'),
    changes: () => '/changes',
    'changes, deep in': () =>
      `/changes?before=${(Math.floor(Date.now() / 1000) - below(30)).toString(16)}0000000000000000`,
    'changes of an author': () => `/changes?author=${anyOf(['elm', 'fir', 'nobody'])}`,
    'changes: feed': () => '/changes.atom',
    'changes, API': () => api('/changes?limit=100'),
    'list, deep in': () => `/pages?after=${deep()}`,
    'list, API': () => api('/pages?limit=100'),
    'titles: a common word': () => '/pages?q=page',
    'titles: a word that none has': () => `/pages?q=zz${below(1e6)}`,
    'titles: like a pattern': () => `/pages?q=${encodeURIComponent(anyOf(['.*.*.*a', '(a+)+$', '[[[[', '\\\\\\']))}`,
    'titles, API: a word that none has': () => api(`/pages?limit=100&q=zz${below(1e6)}`),
    'search: a common word': () => '/search?q=common',
    'search: a rare word': () => `/search?q=unique${below(pages)}`,
    'search: a phrase that none has': () => `/search?q=${encodeURIComponent(`"the common end ${below(1e6)}"`)}`,
    'search: many words': () => '/search?q=the+common+elm+oak+pine+fir+ash+birch+cedar+yew',
    'search: but not': () => `/search?q=${encodeURIComponent('common -the -of -elm -oak')}`,
    'search: deep in': () => '/search?q=oak&part=50',
    'search: long texts': () => '/search?q=needle',
    'search: words at their end': () => `/search?q=${encodeURIComponent(`needle none${below(1e6)}`)}`,
    'search, API: long texts': () => api('/search?limit=100&q=needle'),
    tags: () => '/tags',
    'a tag': () => `/tags/oak?after=${deep()}`,
    'a tag, API': () => api('/tags/oak/pages?limit=100'),
    wanted: () => '/wanted',
    'wanted, deep in': () => `/wanted?after=1+Wanted+${below(pages / 10)}`,
    orphaned: () => `/orphaned?after=${deep()}`,
    'dead ends': () => `/dead-ends?after=${deep()}`,
    'pages that need care': () => '/care',
    'orphaned, API': () => api('/orphaned?limit=100'),
    'links to a page': () => linksUrl(nameOf(below(pages))),
    pictures: () => '/files',
    'the whole wiki, API': () => api('/export'),
    'API: its description': () => api('/openapi.json'),
    'API: its documentation': () => '/api/',
    'edit: 1 MiB': () => editUrl('Prose'),
    'edit: 0.7 MB to escape': () => editUrl('Escapes'),
    'edit: a new page': () => editUrl(`new ${below(1e9)}`)
  })
  const form = (/** @type {Record<string, string>} */ fields) => new URLSearchParams(fields).toString()
  const stale = {
    prose: form({ content: TEXTS.Prose(), base_revision: '1' }),
    lines: form({ content: TEXTS['Short lines'](), base_revision: '1' })
  }
  return [
    ...Object.entries(gets).map(([title, path]) => ({ title, request: () => ({ path: path() }) })),
    ...Object.entries(HOSTILE).map(([title, content]) => ({
      title: `preview, API: ${title}`,
      request: () => ({ method: 'POST', path: api('/preview'), headers: JSON_TYPE, body: JSON.stringify({ content }) })
    })),
    {
      title: 'preview: 1 MiB',
      request: () => ({ method: 'POST', path: '/edit/preview/Prose', headers: PEOPLE, body: stale.prose })
    },
    {
      title: 'an edit that came too late: prose',
      request: () => ({ method: 'POST', path: editUrl('Prose'), headers: PEOPLE, body: stale.prose })
    },
    {
      title: 'an edit that came too late: short lines',
      request: () => ({ method: 'POST', path: editUrl('Short lines'), headers: PEOPLE, body: stale.lines })
    },
    {
      title: 'an import of 32 KiB of front matter, 20 times',
      request: () => ({
        method: 'POST', path: api('/import'), headers: { 'content-type': 'application/zip' }, body: FRONT_MATTER_ZIP
      })
    },
    {
      title: 'a save that is refused',
      request: () => ({ method: 'POST', path: viewUrl('Hostile'), headers: MARKDOWN, body: HOSTILE.pictures })
    }
  ]
}

/**
 * Returns the requests that only a wiki with accounts takes: ACCESS=users.
 * @returns {{title: string, request: () => Request}[]}
 */
export function dearSignIns () {
  const signIn = (/** @type {string} */ name) => ({
    method: 'POST',
    path: '/edit/sign-in',
    headers: PEOPLE,
    body: new URLSearchParams({ name, password: 'a wrong password' }).toString()
  })
  return [
    { title: 'sign in: the page', request: () => ({ path: '/edit/sign-in' }) },
    { title: 'sign in: a wrong password', request: () => signIn(USER) },
    { title: 'sign in: a name that is not there', request: () => signIn(`nobody ${below(1e9)}`) }
  ]
}
