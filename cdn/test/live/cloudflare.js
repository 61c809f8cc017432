// Runs against a real zone: `make test-cloudflare`. Sets up the doors under unused names, purges one, removes all of
// them, and compares the zone with its state before.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { carryOut, makePlan } from '../../src/cloudflare/apply.js'
import { createClient } from '../../src/cloudflare/client.js'
import { createPurge } from '../../src/cloudflare/purge.js'
import { tokenWarnings } from '../../src/cloudflare/rights.js'
import { readState } from '../../src/cloudflare/state.js'
import { readToken } from '../../src/cloudflare/token.js'
import { findZone } from '../../src/cloudflare/zone.js'

const {
  CLOUDFLARE_API_TOKEN: token,
  CLOUDFLARE_API_TOKEN_FILE: file,
  CLOUDFLARE_API_URL: apiUrl,
  CLOUDFLARE_TEST_ZONE: zoneName,
  CLOUDFLARE_TEST_ORIGIN: origin = '203.0.113.7'
} = process.env

/** The test must not remove doors that the user has set up. */
const OURS = 'managed by stevec'

if (!zoneName || !(token || file)) {
  process.stderr.write(
    'test-cloudflare changes a real zone and puts it back: it wants CLOUDFLARE_TEST_ZONE=example.com, ' +
    'and CLOUDFLARE_API_TOKEN, or CLOUDFLARE_API_TOKEN_FILE\n' +
    'with the rights that cdn/README.md lists. CLOUDFLARE_TEST_ORIGIN may name an origin; nobody asks it anything.\n'
  )
  process.exitCode = 1
} else {
  const client = createClient({
    token: readToken({ token, file }),
    apiUrl: apiUrl || undefined,
    onRetry: (message) => process.stderr.write(`${message}\n`)
  })

  test(`on ${zoneName} the doors are set up, purged and removed, and the zone is as before`, async (t) => {
    const zone = await findZone(client, zoneName)
    for (const warning of await tokenWarnings(client, zone)) t.diagnostic(warning)
    const label = `t${randomBytes(4).toString('hex')}`
    const wish = { zone: zoneName, origin, names: `${label}w,${label}n,${label}s` }
    const look = async () => {
      const { ruleset, settings } = await readState(client, zone, [])
      const records = await client.call('list all records', async (api, options) => {
        /** @type {{comment?: string | null}[]} */
        const all = []
        for await (const record of api.dns.records.list({ zone_id: zone.id, per_page: 100 }, options)) all.push(record)
        return all
      })
      return { rules: ruleset?.rules ?? [], settings, records }
    }
    const before = await look()
    assert.ok(
      !before.records.some((/** @type {{comment?: string | null}} */ { comment }) => comment?.startsWith(OURS)),
      'stevec has doors on this zone: this test would move them. Take them down first: stevec cloudflare destroy'
    )
    try {
      const plan = await makePlan(client, 'apply', wish)
      assert.deepEqual(plan.conflicts, [])
      await carryOut(client, wish, plan)
      assert.deepEqual((await makePlan(client, 'apply', wish)).steps, [], 'a second apply has nothing to do')
      const purge = createPurge({ client, zoneId: zone.id })
      await purge.purgeUrls([`https://${plan.hosts.cached}/wiki/a`])
      await purge.purgeHosts([plan.hosts.cached])
      await purge.purgePrefixes([`${plan.hosts.cached}/wiki/`])
    } finally {
      await carryOut(client, wish, await makePlan(client, 'destroy', wish))
    }
    assert.deepEqual(await look(), before)
  })
}
