import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { png } from '../images.js'
import { linkIn, startMailbox } from '../mailbox.js'
import { bearer, PASSWORD, peopleOnly } from '../people.js'
import { useBrowser, write } from './helper.js'
import { createInspector, ON_A_DESKTOP, ON_A_PHONE } from './inspector.js'

const browser = useBrowser()

/** @typedef {import('playwright-core').Page} Page */

/** Nothing breaks it into lines by itself. */
const LONG = 'N'.padEnd(176, 'ame')
const SUM = 'a_1 + \\frac{b}{2} + '.repeat(20)
const EVERYTHING = `## It begins at the second level

Some *text* with a [[missing page]], \`code\`, a note[^1] and a bare address: https://example.org/${'long/'.repeat(40)}.

#### It jumps two levels

> [!WARNING]
> A callout with a [link](/wiki/Home).

> A quotation.

- [ ] to do
- [x] done

| ${'wide | '.repeat(20)}
|${'---|'.repeat(20)}
| ${'a cell | '.repeat(20)}

\`\`\`js
const long = '${'a long line '.repeat(20)}' // a comment
\`\`\`

It costs $5. Formulas: $E = mc^2$, $${SUM}c$, $\\nosuch$, and

$$
${SUM}c
$$

$$
\\text{${'not closed '.repeat(20)}
$$

<details>
<summary>More</summary>

Press <kbd>Ctrl</kbd>.

</details>

${'x'.repeat(300)}

# A second title

[^1]: The note.
`

/**
 * @param {import('fastify').FastifyInstance} app @param {import('playwright-core').Page} page
 * @param {(what: string) => Promise<void>} look
 */
async function eraseOne (app, page, look) {
  for (const content of ['a secret', 'without']) {
    await app.inject({ method: 'PUT', url: '/api/v1/pages/Leak', headers: bearer('admin'), payload: { content } })
  }
  await page.goto('/revision/Leak/1')
  await page.getByRole('link', { name: 'Erase this revision…' }).click()
  await page.getByLabel('To confirm, type the name of the page').fill('Leak')
  await look('erasing a revision')
  await page.getByLabel('Why, for the list').fill('a password')
  await page.getByRole('button', { name: 'Erase for good' }).click()
  await page.getByRole('heading', { name: 'Erased' }).waitFor()
  await look('a revision is erased')
  await page.goto('/revision/Leak/1')
  await look('an erased revision')
  await page.goto('/history/Leak')
  await look('a history with an erased revision')
}

/**
 * A group, a private space, and a page in it.
 * @param {Page} page @param {(what: string) => Promise<void>} look
 */
async function keepPrivate (page, look) {
  await page.goto('/edit/groups')
  await look('groups, none yet')
  await page.getByLabel('The name of the group').fill(LONG.slice(0, 80))
  await page.getByRole('button', { name: 'Make it' }).click()
  await page.getByLabel('Person to add').fill('admin')
  await page.getByRole('button', { name: 'Add this person' }).click()
  await look('groups')
  await page.goto('/edit/spaces')
  await look('private spaces, none yet')
  await page.getByLabel('The name above all its pages').fill('Secret')
  await page.getByRole('button', { name: 'Make it' }).click()
  await page.getByRole('button', { name: 'Give the group a role' }).click()
  await look('private spaces')
  await page.goto('/edit/text/Secret')
  await look('the editor of a private page')
  await page.getByLabel('Text, in Markdown').fill('[[Secret/none]]')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.waitForURL('**/edit/in/wiki/Secret?saved=1')
  await look('a private page')
  for (const path of ['pages', 'changes', 'search', 'files']) {
    await page.goto(`/edit/in/${path}?space=Secret`)
    await look(`${path} of a private space`)
  }
  await page.getByLabel('File: pages show pictures').setInputFiles(
    { name: 'a.png', mimeType: 'image/png', buffer: png(200, 20) })
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByRole('link', { name: 'Name or delete' }).click()
  await look('a picture of a private space')
  for (const path of ['protection', 'proposals']) {
    await page.goto(`/edit/${path}?space=Secret`)
    await look(`${path} of a private space`)
  }
  await page.goto('/edit/in/search?space=Secret')
  await page.getByLabel('Words').fill('none -other')
  await page.getByRole('button', { name: 'Search the texts' }).click()
  await look('what a search of a private space found')
  await page.goto('/edit/watch/Secret')
  await page.getByRole('button', { name: 'Watch', exact: true }).click()
  await page.getByRole('button', { name: 'Stop watching' }).waitFor()
  await page.goto('/edit/watching')
  await look('changes of a private page')
}

/**
 * The pages of people and accounts, as an administrator.
 * @param {Page} page @param {(what: string) => Promise<void>} look
 */
async function manage (page, look) {
  await page.goto('/edit/people')
  await look('people, none yet')
  await page.getByLabel('The name, as the history will show it').fill(LONG.slice(0, 80))
  await page.getByLabel('The role').selectOption('admin')
  await page.getByRole('button', { name: 'Make an invitation' }).click()
  const link = await page.getByLabel('The address').inputValue()
  await look('an invitation')
  await page.getByRole('link', { name: 'All people' }).click()
  await look('people')
  await page.getByRole('main').getByRole('link').first().click()
  await look('a person')
  const personUrl = page.url()
  await page.goto(link)
  await look('choosing a password')
  await page.goto(personUrl)
  await page.getByRole('button', { name: 'Block', exact: true }).click()
  await page.getByRole('button', { name: 'Unblock' }).waitFor()
  await look('a blocked person')
  await page.goto('/edit/protection')
  await look('protected pages, none yet')
  for (const name of [LONG, 'Rules']) {
    await page.getByLabel('The name of the page').fill(name)
    await page.getByLabel('Why').fill(LONG.slice(0, 150))
    await page.getByLabel('With all names below it').check()
    await page.getByRole('button', { name: 'Protect', exact: true }).click()
  }
  await look('protected pages')
  await page.goto('/edit/text/Rules')
  await look('the editor of a protected page')
  await keepPrivate(page, look)
  await page.goto('/edit/audit')
  await look('what administrators did')
  await page.goto('/edit/account')
  await look('an account in the file')
}

/**
 * What waits for a review, as an administrator.
 * @param {import('fastify').FastifyInstance} app @param {Page} page @param {(what: string) => Promise<void>} look
 */
async function review (app, page, look) {
  const put = async (/** @type {string} */ by, /** @type {string} */ content) => (await app.inject({
    method: 'PUT',
    url: `/api/v1/pages/Review%2F${LONG}`,
    headers: bearer(by),
    payload: { content, summary: LONG, tags: [by] }
  })).json()
  await page.goto('/edit/proposals')
  await look('proposals, none yet')
  await app.inject({
    method: 'PUT',
    url: '/api/v1/protections/Review',
    headers: bearer('admin'),
    payload: { subpages: true, review: true }
  })
  await put('admin', 'a\n\nb\n')
  const ids = []
  for (const content of [`c ${'x'.repeat(300)}\n\nb\n`, 'd\n\nb\n']) ids.push((await put('editor', content)).id)
  await put('admin', 'a\n\nc\n')
  await page.goto('/edit/proposals')
  await look('proposals')
  await page.goto(`/edit/proposal/${ids[0]}`)
  await look('a proposal')
  await page.getByRole('link', { name: 'Change it, then publish' }).click()
  await page.getByText('“Save” publishes it').waitFor()
  await look('the editor with a proposal')
  await page.goto(`/edit/proposal/${ids[0]}`)
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByText('Saved as revision 3').waitFor()
  await page.goto(`/edit/proposal/${ids[1]}`)
  await page.getByRole('button', { name: 'Publish' }).click()
  await page.getByRole('heading', { name: 'Both texts' }).waitFor()
  await look('a proposal that conflicts')
  await page.goto(`/edit/proposal/${ids[1]}`)
  await page.getByLabel('Why you decline it').fill(LONG)
  await page.getByRole('button', { name: 'Decline' }).click()
  await page.getByText('There are none.').waitFor()
  await page.goto(`/edit/proposal/${ids[1]}`)
  await look('a declined proposal')
}

/**
 * As an editor: the form forgets its draft once it is a proposal.
 * @param {Page} page @param {(what: string) => Promise<void>} look
 */
async function propose (page, look) {
  await page.goto('/edit/text/Review/new')
  await look('the editor of a reviewed page')
  await page.getByLabel('Text, in').fill('proposed')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('This waits for a review').waitFor()
  await look('a proposal, for its author')
  await page.getByRole('link', { name: 'Your proposals' }).click()
  await page.getByRole('heading', { name: 'Your proposals' }).waitFor()
  await look('proposals of an author')
  assert.equal(await page.evaluate(() => localStorage.getItem('draft /edit/text/Review/new')), null)
}

const ATTACHED = 'a file that is no picture'

/** Kinds of pages that an address leads to, in a wiki that everybody may write. */
const ADDRESSES = Object.freeze({
  home: '/',
  page: '/wiki/Home',
  subpage: '/wiki/Home/below',
  'page with a long name': `/wiki/${LONG}`,
  'no page, but one with a similar name': '/wiki/home',
  'no page': '/wiki/none',
  'no page, but a deleted one': '/wiki/Gone',
  'no address': '/nowhere',
  'wrong parameter': '/difference/Home?from=x&to=y',
  'no revision': '/revision/Home/99',
  'no picture': `/files/${'0'.repeat(32)}.png`,
  'list of pages': '/pages',
  'list of subpages': '/pages?under=Home',
  tree: '/tree/Home',
  search: '/search?q=text',
  'search without a hit': '/search?q=nothing-has-this',
  'search without words': '/search',
  history: '/history/Home',
  'history of a deleted page': '/history/Gone',
  difference: '/difference/Home?from=1&to=2',
  revision: '/revision/Home/1',
  'authors of a revision': '/revision/Home/2/authors',
  changes: '/changes',
  'changes of an author': '/changes?author=Ana',
  tags: '/tags',
  tag: '/tags/one',
  'wanted pages': '/wanted',
  'orphaned pages': '/orphaned',
  'pages without links': '/dead-ends',
  'pages that need care': '/care',
  'pages to read through again': '/overdue',
  'links to a page': '/links/Home',
  pictures: '/files',
  'a file that is no picture': `/edit/picture/${createHash('sha256').update(ATTACHED).digest('hex').slice(0, 32)}`,
  API: '/api/',
  status: '/status',
  editor: '/edit/text/Home',
  'editor of a new page': `/edit/text/${LONG}new`,
  'new page': '/edit/new',
  'editor of a section': '/edit/text/Home?revision=2&section=1',
  'editor, after its section is gone': '/edit/text/Home?revision=2&section=99',
  'talk page': '/wiki/Talk:Home',
  'no talk page yet': '/wiki/Talk:Home/below',
  'new topic': '/edit/topic/Talk:Home',
  reply: '/edit/topic/Talk:Home?revision=1&section=1',
  rename: '/edit/rename/Home',
  delete: '/edit/delete/Home',
  'bring back': '/edit/revert/Home?revision=1',
  'short link, before it is made': '/edit/short-link/Home',
  'short link': '/edit/short-link/Home?revision=1',
  import: '/edit/import'
})

/** @param {import('fastify').FastifyInstance} app */
async function fill (app) {
  await write(app, 'Home', EVERYTHING, { tags: 'one, two', author: 'Ana', summary: 'first' })
  await write(app, 'Home', `${EVERYTHING.replace('Some *text*', 'Other *text*')}\nmore`, {
    author: 'A'.repeat(80), summary: 's'.repeat(200)
  })
  await write(app, 'Home/below', 'text of [home](/wiki/Home)')
  await write(app, 'Talk:Home', `## ${LONG}\n\n> ${'x'.repeat(300)}\n\n— **Ana**, 2026-01-01 10:00 UTC\n`)
  await write(app, LONG, `[[${LONG}]]`, { tags: 't'.repeat(50) })
  await write(app, 'Gone', 'text')
  for (const name of [LONG, 'short']) await write(app, `Template/${name}`, 'text')
  const { statusCode: linked } = await app.inject({
    method: 'POST', url: '/api/v1/short-links', payload: { page: 'Home', revision: 1 }
  })
  const { statusCode: deleted } = await app.inject({ method: 'DELETE', url: '/api/v1/pages/Gone' })
  const { statusCode: stored } = await app.inject({
    method: 'POST', url: '/api/v1/files', headers: { 'content-type': 'image/png' }, payload: png(2000, 20)
  })
  const { statusCode: attached } = await app.inject({
    method: 'POST',
    url: `/api/v1/files?name=${'a'.repeat(90)}.pdf`,
    headers: { 'content-type': 'application/octet-stream' },
    payload: ATTACHED
  })
  assert.deepEqual([deleted < 300, stored, linked, attached], [true, 201, 201, 201])
}

test('every kind of page is accessible, light and dark, on a desktop and a phone, and not too wide', async (t) => {
  const { app, page } = await browser.open(t, ON_A_DESKTOP)
  const { look, report } = await createInspector(page, ON_A_DESKTOP)
  await page.goto('/')
  await look('home, before it is written')
  await fill(app)
  for (const [kind, url] of Object.entries(ADDRESSES)) {
    await page.goto(url)
    await look(kind)
  }

  await page.goto('/edit/text/Home')
  await page.getByRole('button', { name: 'Preview' }).click()
  await page.getByRole('region', { name: 'Preview' }).getByRole('article').waitFor()
  await look('preview')
  // As the form does where no script takes the button.
  await page.evaluate(() => {
    const form = /** @type {HTMLFormElement} */ (document.querySelector('form.editor'))
    form.action = /** @type {HTMLButtonElement} */ (form.querySelector('button[formaction]')).formAction
    form.submit()
  })
  await page.getByText('This is not saved yet').waitFor()
  await look('preview without JavaScript')
  await page.getByLabel('Text, in').fill('mine')
  await write(app, 'Home', 'changed')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('alert').waitFor()
  await look('conflict')

  page.on('dialog', (dialog) => dialog.accept().catch(() => {}))
  await page.goto('/wiki/Home/below')
  await page.getByText('More', { exact: true }).click()
  await look('menu')
  await page.goto('/wiki/Home/below')
  await page.getByRole('button', { name: 'Keys' }).click()
  await page.getByRole('dialog').waitFor()
  await look('keys')
  await page.goto('/files')
  await page.getByRole('link', { name: 'Name or delete' }).first().click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await look('a picture')
  await page.goto('/files')
  const picture = { name: 'a.png', mimeType: 'image/png', buffer: png(20, 20) }
  await page.getByLabel('File: pages show').setInputFiles(picture)
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByRole('heading', { name: 'Uploaded' }).waitFor()
  await look('an uploaded picture')
  await page.goto('/edit/import')
  await page.getByLabel('A zip file').setInputFiles({
    name: 'wiki.zip', mimeType: 'application/zip', buffer: (await app.inject('/api/v1/export')).rawPayload
  })
  await page.getByRole('button', { name: 'Import' }).click()
  await page.getByRole('link', { name: 'Import more' }).waitFor()
  await look('report of an import')
  report()
})

test('pages about people are accessible, light and dark, on a desktop and a phone, and not too wide', async (t) => {
  const mailbox = await startMailbox(t)
  const { app, page } = await browser.open(t, ON_A_PHONE, { ...peopleOnly(t), ...mailbox.settings })
  const { look, report } = await createInspector(page, ON_A_PHONE)
  const signIn = async (/** @type {string} */ name, password = PASSWORD) => {
    await page.goto('/edit/sign-in')
    await page.getByLabel('Your name').fill(name)
    await page.getByLabel('Your password').fill(password)
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
    if (password === PASSWORD) await page.getByRole('banner').getByRole('link', { name, exact: true }).waitFor()
  }
  await page.goto('/')
  await look('home of a wiki with users')
  await page.goto('/edit/sign-in/forgotten')
  await look('a forgotten password')
  await page.getByLabel('Your name in this wiki, or').fill('nobody')
  await page.getByRole('button', { name: 'Send me a link' }).click()
  await page.getByRole('status').waitFor()
  await look('a link was asked for')
  await page.goto('/edit/sign-in')
  await look('sign in')
  await signIn('editor', 'wrong')
  await page.getByRole('alert').waitFor()
  await look('wrong password')

  for (const name of ['reader', 'editor', 'admin']) {
    await signIn(name)
    await page.goto('/edit/sign-in')
    await page.getByRole('main').getByText(name, { exact: true }).waitFor()
    await look(`signed in, ${name}`)
    await page.goto('/edit/text/Home')
    await look(`editor, ${name}`)
    if (name === 'reader') {
      await page.goto('/edit/watching')
      await look('nothing is watched')
    }
    if (name === 'editor') {
      await page.getByLabel('Text, in').fill('text')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Saved as revision 1').waitFor()
      await look('saved page')
    }
    if (name === 'admin') {
      for (const [what, url] of [['a page', '/edit/watch/Home'], ['an author', '/edit/watch-author?author=editor']]) {
        await page.goto(url)
        await look(`${what}, not watched`)
        await page.getByRole('button', { name: 'Watch', exact: true }).click()
        await page.getByRole('button', { name: 'Stop watching' }).waitFor()
        await look(`${what}, watched`)
      }
      await page.getByRole('banner').getByRole('link', { name: 'Watching' }).click()
      await page.getByRole('button', { name: 'Make an address' }).click()
      await page.getByLabel('The address of your feed').waitFor()
      await look('what is watched, and its feed')
      await page.getByLabel('Your mail address').fill(`${'a'.repeat(60)}@mail.example`)
      await page.getByRole('button', { name: 'Send me what is new' }).click()
      await page.getByRole('status').filter({ hasText: 'Open the link within a day' }).waitFor()
      await look('an address that is not confirmed')
      await page.goto(linkIn((await mailbox.until(1))[0]))
      await look('confirm a mail address')
      await page.getByRole('button', { name: 'Confirm' }).click()
      await page.getByRole('heading', { name: 'Your mail address is confirmed' }).waitFor()
      await look('a mail address is confirmed')
      await page.goto('/edit/watching')
      await look('a digest by mail')
      await manage(page, look)
      await eraseOne(app, page, look)
      await review(app, page, look)
      await page.goto('/edit/revert-author')
      await look('taking back an author’s changes')
      await page.getByLabel('The author’s name').fill('editor')
      await page.getByRole('button', { name: 'See what would happen' }).click()
      await page.getByRole('heading', { name: 'What would happen' }).waitFor()
      await look('what would be taken back')
      await page.getByRole('main').getByRole('button').last().click()
      await page.getByRole('status').waitFor()
      await look('taken back')
    }
    await page.goto('/edit/sign-in')
    await page.getByRole('main').getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { level: 1 }).waitFor()
  }

  await signIn('editor')
  await propose(page, look)
  await page.goto('/edit/text/Home')
  await page.getByLabel('Text, in').fill('kept')
  await page.context().clearCookies()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Send again' }).waitFor()
  await look('expired session')
  report()
})
