import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { carryOut, makePlan } from '@stevec/cdn/cloudflare/apply'
import { parseApiUrl } from '@stevec/cdn/cloudflare/api-url'
import { createClient } from '@stevec/cdn/cloudflare/client'
import { createPurge } from '@stevec/cdn/cloudflare/purge'
import { tokenWarnings } from '@stevec/cdn/cloudflare/rights'
import { readToken } from '@stevec/cdn/cloudflare/token'
import { PAGE, verifyDoors } from '@stevec/cdn/cloudflare/verify'
import { DOORS, hostsOf } from '@stevec/cdn/cloudflare/wanted'
import { findZone, purgeZoneId } from '@stevec/cdn/cloudflare/zone'
import { keepAnalytics, runFolders } from '../cloudflare/run-analytics.js'
import { keepVerified } from '../cloudflare/verified.js'
import { readConfig } from '../config.js'
import { countOf } from '../count-of.js'
import { EXIT } from '../exit-codes.js'
import { UsageError } from '../usage-error.js'
import { print, printJson, say, showCheck, showPlan } from './cloudflare-output.js'
import { interruptSignal, refuseMore } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'the doors on Cloudflare: set up, verify, purge, take down',
  help: `Usage: stevec cloudflare plan|apply|destroy|verify|purge|analytics --zone DOMAIN [options]

  plan       shows what apply would change; changes nothing
  apply      creates the DNS records and cache rules of the doors; keeps all others
  destroy    removes what apply has created, and nothing else
  verify     checks that the doors behave as the experiments assume
  purge      purges URLs, --tags, --hosts, --prefixes, or --everything
  analytics  adds Cloudflare's own counts to the folder of a run; then repeat stevec report

  --zone DOMAIN        the domain of the zone
  --origin ADDRESS     public IP address or host name of the machine with the wiki (plan, apply)
  --names A,B,C        of the doors cached, nocache, source (default wiki,nocache,source)
  --tune               also switches off settings that rewrite pages or change their size (plan,
                       apply); destroy restores them
  --expect ID          executes exactly the plan with that id (apply, destroy)
  --yes                does not ask for confirmation (apply, destroy)
  --doors LIST         verifies other addresses: cached=URL,nocache=URL,source=URL
  --page PATH          page to verify with (default ${PAGE}, created if it is missing)
  --everything         purges the whole zone (purge, verify)
  --tags LIST, --hosts LIST, --prefixes LIST
                       to purge, with commas between
  --soft               marks copies as stale instead of removing them (purge)
  --run DIR            folder of a run or study through the zone (analytics)
  --api-url URL        another server that speaks the API; also CLOUDFLARE_API_URL
  --json               JSON output

The token is read from CLOUDFLARE_API_TOKEN, or from the file of mode 600 that
CLOUDFLARE_API_TOKEN_FILE names. cdn/README.md lists the permissions that it needs.
Exit code: 0 done, or every check passed; 1 a check failed, or the zone conflicts with the plan;
2 wrong usage; 3 broken: Cloudflare refuses or does not answer; 130 interrupted.

Examples:
  stevec cloudflare plan --zone example.com --origin 203.0.113.7
  stevec cloudflare apply --zone example.com --origin 203.0.113.7
  stevec cloudflare verify --zone example.com
  stevec run read-hot --target cloudflare --zone example.com
  stevec cloudflare analytics --zone example.com --run results/20261121T100000Z-read-hot-abc1234
  stevec cloudflare purge --zone example.com https://wiki.example.com/wiki/Hello
  stevec cloudflare destroy --zone example.com`,
  options: {
    zone: { type: 'string' },
    origin: { type: 'string' },
    names: { type: 'string' },
    tune: { type: 'boolean' },
    expect: { type: 'string' },
    yes: { type: 'boolean' },
    doors: { type: 'string' },
    page: { type: 'string' },
    everything: { type: 'boolean' },
    tags: { type: 'string' },
    hosts: { type: 'string' },
    prefixes: { type: 'string' },
    soft: { type: 'boolean' },
    run: { type: 'string' },
    'api-url': { type: 'string' },
    json: { type: 'boolean' }
  },
  async run ({ values, positionals }) {
    const [verb, ...rest] = positionals
    if (!Object.hasOwn(VERBS, verb ?? '')) throw new UsageError(`the action is missing or unknown; use one of ${Object.keys(VERBS).join(', ')}`)
    if (verb !== 'purge') refuseMore(rest, 0)
    if (values.zone === undefined) throw new UsageError('--zone is missing, for example --zone example.com')
    const { cloudflare } = readConfig()
    return usable(async () => {
      const client = createClient({
        token: readToken({ token: cloudflare.token, file: cloudflare.tokenFile }),
        apiUrl: parseApiUrl(values['api-url'] ?? cloudflare.apiUrl),
        signal: interruptSignal(),
        onRetry: say
      })
      return VERBS[/** @type {keyof typeof VERBS} */ (verb)](client, values, rest)
    })
  }
}

/** The zone is not what a plan expects, or the plan is not confirmed; nothing was done. */
class PlanError extends Error {}

/** @typedef {import('@stevec/cdn/cloudflare/client').Client} Client */

const VERBS = {
  /** @param {Client} client @param {Record<string, any>} values */
  async plan (client, values) {
    await warn(client, values.zone)
    const wish = wishOf(values, true)
    const plan = await makePlan(client, 'apply', wish)
    showPlan(plan, values.json)
    if (!values.json && plan.steps.length > 0 && plan.conflicts.length === 0) {
      print(`to execute exactly this plan: stevec cloudflare apply --zone ${wish.zone} --origin ${wish.origin}${wish.names ? ` --names ${wish.names}` : ''}${wish.tune ? ' --tune' : ''} --expect ${plan.fingerprint}`)
    }
    return plan.conflicts.length === 0 ? EXIT.good : EXIT.violated
  },
  /** @param {Client} client @param {Record<string, any>} values */
  apply: (client, values) => change(client, 'apply', values),
  /** @param {Client} client @param {Record<string, any>} values */
  destroy: (client, values) => change(client, 'destroy', values),

  /** @param {Client} client @param {Record<string, any>} values */
  async verify (client, values) {
    const hosts = hostsOf(values.zone, values.names)
    const doors = values.doors === undefined
      ? { cached: `https://${hosts.cached}`, nocache: `https://${hosts.nocache}`, source: `http://${hosts.source}` }
      : parseDoors(values.doors)
    if (values.page !== undefined && !/^\/[^\s?#]*$/.test(values.page)) {
      throw new UsageError(`--page is a path such as /wiki/Hello, not "${values.page}"`)
    }
    if (values.doors === undefined) await warn(client, values.zone)
    const purge = createPurge({ client, zoneId: await purgeZoneId(client, values.zone) })
    const checks = await verifyDoors({
      doors,
      purge,
      page: values.page,
      everything: values.everything,
      onCheck: values.json ? undefined : showCheck
    })
    const failed = checks.filter(({ outcome }) => outcome === 'failed')
    const verified = {
      zone: values.zone,
      verified_at: new Date().toISOString(),
      ok: failed.length === 0,
      doors,
      checks
    }
    keepVerified(readConfig().stateDirectory, verified)
    if (values.json) printJson(verified)
    else {
      print(failed.length === 0 ? `${values.zone}: ready for experiments` : `${values.zone}: ${failed.length} of ${countOf(checks.length, 'check')} failed`)
    }
    return failed.length === 0 ? EXIT.good : EXIT.violated
  },

  /** @param {Client} client @param {Record<string, any>} values @param {string[]} urls */
  async purge (client, values, urls) {
    const lists = { tags: listOf(values.tags), hosts: listOf(values.hosts), prefixes: listOf(values.prefixes) }
    const named = urls.length + lists.tags.length + lists.hosts.length + lists.prefixes.length
    if (values.everything ? named > 0 || values.soft : named === 0) {
      throw new UsageError('purge needs URLs, --tags, --hosts or --prefixes; or --everything without any of these')
    }
    for (const url of urls) {
      if (!URL.canParse(url) || !/^https?:/.test(url)) {
        throw new UsageError(`a URL to purge begins with https:// or http://, not "${url}"`)
      }
    }
    const purge = createPurge({ client, zoneId: await purgeZoneId(client, values.zone) })
    const soft = { soft: Boolean(values.soft) }
    if (values.everything) await purge.purgeEverything()
    await purge.purgeUrls(urls, soft)
    await purge.purgeTags(lists.tags, soft)
    await purge.purgeHosts(lists.hosts, soft)
    await purge.purgePrefixes(lists.prefixes, soft)
    if (values.json) printJson({ zone: values.zone, everything: Boolean(values.everything), urls, ...lists, ...soft })
    else {
      print(values.everything ? `purged everything of ${values.zone}` : `purged ${countOf(named, 'item')}`)
    }
    return 0
  },

  /** @param {Client} client @param {Record<string, any>} values */
  async analytics (client, values) {
    if (values.run === undefined) throw new UsageError('--run is missing: the folder of a run, such as --run results/<run>')
    const folders = runFolders(path.resolve(values.run))
    const zone = await findZone(client, values.zone)
    for (const directory of folders) {
      const found = await keepAnalytics({ client, zone, directory })
      if (values.json) printJson(found)
      else if (found.trials === 0) print(`${found.file}: no trial went through Cloudflare`)
      else {
        print(`${found.file}: in ${found.agree} of ${countOf(found.trials, 'trial')} Cloudflare counted exactly the requests that we sent${found.sampled ? '; it sampled, so its numbers are estimates' : ''}`)
        if (found.missing > 0) print(`Cloudflare has no counts of ${countOf(found.missing, 'trial')} yet: try again in some minutes`)
      }
    }
    return 0
  }
}

/**
 * @param {Client} client
 * @param {'apply' | 'destroy'} kind
 * @param {Record<string, any>} values
 */
async function change (client, kind, values) {
  const wish = wishOf(values, kind === 'apply')
  await warn(client, values.zone)
  const plan = await makePlan(client, kind, wish)
  if (values.expect !== undefined && values.expect !== plan.fingerprint) {
    const again = kind === 'apply' ? 'run stevec cloudflare plan again' : 'run it without --expect, which shows the plan'
    throw new PlanError(`nothing was done: the zone or the options have changed since that plan; ${again}`)
  }
  if (!values.json) showPlan(plan, false)
  if (plan.conflicts.length > 0) throw new PlanError(`nothing was done: ${plan.conflicts.join('; ')}`)
  if (plan.steps.length > 0) {
    if (values.expect === undefined && !values.yes) await requireConsent(kind)
    await carryOut(client, wish, plan, { onStep: ({ action, what }) => say(`${action} ${what}`) })
  }
  if (values.json) showPlan(plan, true)
  else if (plan.steps.length > 0) {
    print(kind === 'apply' ? `done; next: stevec cloudflare verify --zone ${wish.zone}${wish.names ? ` --names ${wish.names}` : ''}` : 'done')
  }
  return 0
}

/**
 * @param {Record<string, any>} values
 * @param {boolean} needsOrigin
 */
function wishOf ({ zone, origin, names, tune }, needsOrigin) {
  if (needsOrigin && origin === undefined) throw new UsageError('--origin is missing: the machine with the wiki, such as --origin 203.0.113.7')
  return { zone, origin, names, tune: Boolean(tune) }
}

/**
 * @param {'apply' | 'destroy'} kind
 * @throws {UsageError} without a terminal to ask on
 * @throws {PlanError} when the answer is no
 */
async function requireConsent (kind) {
  if (!process.stdin.isTTY) {
    throw new UsageError('nothing was done: confirm with --yes, or with --expect and the id of a plan')
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await lines.question(`${kind} this? Type "yes" to confirm: `)
  lines.close()
  if (answer.trim() !== 'yes') throw new PlanError('nothing was done')
}

/**
 * @param {Client} client
 * @param {string} zoneName
 */
async function warn (client, zoneName) {
  hostsOf(zoneName)
  for (const warning of await tokenWarnings(client, await findZone(client, zoneName))) say(`warning: ${warning}`)
}

/** @param {string | undefined} text */
const listOf = (text) => (text ?? '').split(',').map((item) => item.trim()).filter((item) => item !== '')

/** @param {string} text */
function parseDoors (text) {
  const doors = Object.fromEntries(listOf(text).map((item) => [
    item.slice(0, item.indexOf('=')),
    item.slice(item.indexOf('=') + 1).replace(/\/$/, '')
  ]))
  if (
    Object.keys(doors).sort().join() !== [...DOORS].sort().join() ||
    !Object.values(doors).every((url) => URL.canParse(url) && new URL(url).origin === url)
  ) {
    throw new UsageError(`--doors is cached=URL,nocache=URL,source=URL with URLs without a path, not "${text}"`)
  }
  return /** @type {import('@stevec/cdn/cloudflare/verify').DoorUrls} */ (doors)
}

/**
 * Turns a RangeError into a UsageError: the value came from the command line.
 * @template T
 * @param {() => Promise<T>} work
 */
async function usable (work) {
  try {
    return await work()
  } catch (error) {
    throw error instanceof RangeError ? new UsageError(error.message) : error
  }
}
