import assert from 'node:assert/strict'
import test from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dropGroup, setCpuShare } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { createClient } from '../../torture/client.js'
import { createTestbed } from '../../torture/testbed.js'

/** Half of the share that the profile banana-pi gives the wiki and its database together. */
const CPU_SHARE = 0.08
const IDLE_MS = 61_000
const CONTENT = 'A page of the length that is usual, with a [[Link]] here and *there*.\n\n'.repeat(140)

const isRoot = process.getuid?.() === 0
const skip = isRoot ? false : 'needs root, to limit the CPU'

const title = 'with 8 % of a core the first save after the start and saves after an idle minute succeed'

test(title, { skip, timeout: 600_000 }, async (t) => {
  const limits = createLimits({ cpu_share: CPU_SHARE, memory_bytes: null }, () => {})
  if (limits.controllers.cpu === undefined) return t.skip(`the CPU cannot be limited here: ${limits.missing.cpu}`)
  const testbed = await createTestbed({ cgroups: limits.directories })
  t.after(async () => {
    await testbed.remove()
    dropGroup(limits.directories)
  })
  await testbed.startDatabase()
  setCpuShare(limits, CPU_SHARE)
  await testbed.startWiki(0, '/readyz')
  const client = createClient(testbed.url, 4)
  t.after(() => client.close())
  const save = (/** @type {string} */ name) =>
    client.ask('PUT', `/api/v1/pages/${name}`, { json: { content: CONTENT } })

  const first = await save('first')
  assert.equal(first.status, 201, first.body)
  await sleep(IDLE_MS)
  const both = await Promise.all([save('second'), save('third')])
  assert.deepEqual(both.map(({ status, body }) => status === 201 ? '' : body), ['', ''])
})
