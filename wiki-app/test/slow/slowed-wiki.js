import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { setCpuShare, dropGroup } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { requireTool } from '@stevec/harness/tools/locate'
import { createClient } from '../../torture/client.js'
import { createTestbed } from '../../torture/testbed.js'

const OUTPUT_MAX_BYTES = 10_000_000

/** The reason why the CPU cannot be limited here; false: it can. */
export const needsRoot = process.getuid?.() === 0 ? false : 'needs root, to limit the CPU'

/**
 * A wiki behind nginx that can be slowed to a share of a core, which k6 can easily send ten times what it can do. It is
 * removed after the test.
 * @param {import('node:test').TestContext} t
 * @param {{cpuShare: number, atOnce: number}} options  `atOnce`: requests in flight that nginx lets through
 * @returns {Promise<null | {testbed: Awaited<ReturnType<typeof createTestbed>>,
 *   client: ReturnType<typeof createClient>, slow: () => void}>}
 *   null: the CPU cannot be limited here, and the test is skipped
 */
export async function startSlowedWiki (t, { cpuShare, atOnce }) {
  const limits = createLimits({ cpu_share: cpuShare, memory_bytes: null }, () => {})
  if (limits.controllers.cpu === undefined) {
    t.skip(`the CPU cannot be limited here: ${limits.missing.cpu}`)
    return null
  }
  const testbed = await createTestbed({ behindNginx: true, requestsAtOnceMax: atOnce, cgroups: limits.directories })
  t.after(async () => {
    await testbed.remove()
    dropGroup(limits.directories)
  })
  await testbed.start()
  const client = createClient(testbed.url, atOnce)
  t.after(() => client.close())
  return { testbed, client, slow: () => setCpuShare(limits, cpuShare) }
}

/**
 * @param {string} script  its summary is on standard output, as JSON
 * @param {Record<string, string | number>} variables  of the script's environment
 * @returns {Promise<{summary: any, stderr: string}>}
 */
export async function runK6 (script, variables) {
  const env = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, String(value)]))
  const { stdout, stderr } = await promisify(execFile)(
    requireTool('k6').path,
    ['run', '--quiet', '--no-usage-report', '--log-format', 'raw', script],
    { env: { PATH: process.env.PATH, ...env }, maxBuffer: OUTPUT_MAX_BYTES }
  )
  return { summary: JSON.parse(stdout), stderr }
}
