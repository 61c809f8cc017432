import assert from 'node:assert/strict'
import test from 'node:test'
import { request } from '@stevec/harness/request'
import { startRole } from './helper.js'

const HOSTS = /** @type {const} */ ({ origin: 'source.localhost', edge: 'wiki.localhost', local: 'localhost' })
const ROLES = /** @type {(keyof typeof HOSTS)[]} */ (Object.keys(HOSTS))

for (const role of ROLES) {
  test(`${role} passes addresses with secrets on and logs them without, and any other address whole`, async (t) => {
    const nginx = await startRole(role, (_incoming, response) => {
      response.setHeader('Cache-Control', 'private, no-cache').end('a feed')
    })
    t.after(() => nginx.stop())
    const paths = [
      '/feeds/secret-1', '/feeds/secret-2?x=secret-3', '//feeds/secret-4', '/wiki/feeds/page',
      '/digests/confirm/secret-5', '//digests/stop/secret-6?x=secret-7', '/wiki/digests/page',
      '/edit/sign-in/oidc/callback?code=secret-10', '//edit/sign-in/oidc/callback?state=secret-11',
      '/edit/sign-in?to=x',
      '/invitations/secret-8', '//invitations/secret-9?x=secret-0', '/wiki/invitations/page'
    ]
    for (const path of paths) await request(`${nginx.url(HOSTS[role])}${path}`)
    assert.deepEqual(nginx.arrived.map(({ url }) => url), paths)
    const lines = [
      ...await nginx.log('/feeds/-', 3), ...await nginx.log('/digests/-', 2), ...await nginx.log('/invitations/-', 2),
      ...await nginx.log('/edit/sign-in/oidc/-', 2)
    ]
    assert.ok(lines.every((line) => !JSON.stringify(line).includes('secret')))
    await nginx.log('/edit/sign-in?to=x', 1)
    await nginx.log('/wiki/feeds/page', 1)
    await nginx.log('/wiki/digests/page', 1)
    await nginx.log('/wiki/invitations/page', 1)
  })
}
