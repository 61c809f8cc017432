import assert from 'node:assert/strict'
import test from 'node:test'
import { freePorts } from '@stevec/harness/ports'
import { save } from '../helper.js'
import { settingsFor, startProvider } from '../oidc.js'
import { bearer, peopleOnly } from '../people.js'
import { assertAccessible, useBrowser } from './helper.js'

const browser = useBrowser()

for (const javaScriptEnabled of [true, false]) {
  test(`signing in at the provider leads back to the page, ${javaScriptEnabled ? 'with' : 'without'} JavaScript`,
    async (t) => {
      const [port] = await freePorts(1)
      const publicUrl = `http://127.0.0.1:${port}`
      const { issuer } = await startProvider(t, { publicUrl, claims: { preferred_username: '<b>Ana</b>' } })
      const { app, page } = await browser.open(t, { javaScriptEnabled }, {
        ...peopleOnly(t), ...settingsFor(issuer), OIDC_LABEL: 'the firm', PUBLIC_URL: publicUrl, PORT: String(port)
      })
      await save(app, 'a', 'text', bearer('editor'))
      await page.goto('/edit/text/a')
      if (javaScriptEnabled) await assertAccessible(page, 'sign-in with a provider', { dark: true })
      await page.getByRole('button', { name: 'Sign in with the firm' }).click()
      await page.waitForURL(`${issuer}/**`)
      await page.locator('[name="login"]').fill('subject')
      await page.locator('[name="password"]').fill('x')
      await page.getByRole('button').click()
      await page.getByRole('button').click()
      await page.waitForURL('/edit/text/a')
      assert.equal(await page.getByLabel('Text', { exact: false }).first().isVisible(), true)
      await page.locator('header').getByText('<b>Ana</b>').waitFor()
      await page.goto('/edit/account')
      await page.getByText('You sign in with OpenID Connect').waitFor()
      if (javaScriptEnabled) await assertAccessible(page, 'an account of a provider', { dark: true })
    })
}
