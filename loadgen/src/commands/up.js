import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { CACHE_POLICY_NAMES, isFollowed, needsPurges } from '@stevec/wiki-app/cache-policy'
import { DEFAULT_PORTS } from '../config.js'
import { startKeeper } from '../keeper/start-keeper.js'
import { statusFileOf } from '../keeper/status-file.js'
import { doorLines } from '../lab/progress.js'
import { originOption, refuseTwiceLimited } from '../stack/origin/origin.js'
import { profileLines } from '../profile/profile-lines.js'
import { loadProfile, profileNames } from '../profile/profile.js'
import { openFilesWarning } from '../stack/open-files.js'
import { isRunning, readState } from '../stack/state.js'
import { startStack, stopStack } from '../stack/stack.js'
import { UsageError } from '../usage-error.js'
import { configWith, interruptSignal, PORT_HELP, PORT_OPTIONS, refuseMore } from './options.js'

/** A wiki on the slowest machine on sale handles so many requests in a fraction of a second. */
const REQUESTS_AT_ONCE_MAX = 256

/** An edit shows at once through every door. A purge by tag covers all forms of a page, also those with a query. */
const POLICY = 'purge-tag'
/** The wiki's own default, used for a wiki that purges a user's zone. */
const ZONE_POLICY = 'ttl'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'start the wiki with all its doors, to browse',
  help: `Usage: stevec up [options]

Starts mongod, the wiki and nginx in its three roles (origin, edge, local), and links between them
if the profile slows one. Waits until every door answers, then leaves them running. Pages are kept
in .stevec/ after \`stevec down\`.

On this machine a keeper keeps running. It restarts a process that dies (at most 10 times in 10
minutes, after 1 to 60 s) and reports it in .stevec/wiki/keeper.log, \`stevec status\` and /status of
the wiki. If the keeper itself has died, \`stevec up\` starts another one.

  --origin WHERE       where the wiki and its nginx run (default local):
                         local                     this machine
                         board                     the emulated board; if it is off, it is switched
                                                   on until \`stevec down\`
                         ssh://[user@]host[:port]  a board of your own
  --profile NAME       limits and links of origin and client (default none):
                       ${profileNames().join(', ')}, or a file of your own
  --policy NAME        cache policy (default ${POLICY}; also CACHE_POLICY):
                       ${CACHE_POLICY_NAMES.join(', ')}
  --traces             the wiki can trace a request: see \`stevec trace --help\`
${PORT_HELP}

With purge-tag and purge-url, each edit purges the emulated edge: the new text shows at once through
every door. With bounded, the edge follows the wiki's purge log, and no page is ever older than
CACHE_BOUND_MS milliseconds (default 500), whatever fails in between. With ttl, the policy of the
study, a page may be CACHE_TTL_S seconds old (default 180).
If PURGE_ZONE names a zone of yours, edits purge that zone instead, and the default policy is ttl.

Environment: MONGODB_URI (your own database), MONGOD_BIN, NGINX_BIN, TOXIPROXY_BIN; settings of the
wiki such as CACHE_POLICY, CACHE_TTL_S (seconds) and PAGE_MAX_BYTES.
Exit code: 0 up, 2 wrong usage, 3 could not start, 130 interrupted.

Examples:
  stevec up
  stevec up --edge-port 9080
  stevec up --origin board
  stevec up --profile banana-pi        # as slow as the study's board; first: stevec calibrate
  CACHE_TTL_S=10 stevec up --policy ttl`,
  options: {
    profile: { type: 'string' },
    origin: { type: 'string' },
    policy: { type: 'string' },
    traces: { type: 'boolean' },
    ...PORT_OPTIONS
  },
  async run ({ values, positionals, signal = interruptSignal() }) {
    refuseMore(positionals, 0)
    const config = configWith(values)
    const directory = path.join(config.stateDirectory, 'wiki')
    const profile = loadProfile(values.profile ?? 'none', config)
    const policy = policyOption(values.policy, config.wikiEnvironment)
    const openOrigin = originOption(values.origin)
    refuseTwiceLimited(profile, values.origin)
    if (values.traces && (values.origin ?? 'local') !== 'local') {
      throw new UsageError('--traces is for a wiki on this machine: leave out --origin, or --traces')
    }
    const present = readState(directory)
    if (present !== null && isRunning(present)) {
      refuseOther(present, { values, profile, policy })
      process.stdout.write(
        `already up since ${present.started_at}:\n${doorLines(present.doors).map((line) => `  ${line}\n`).join('')}`
      )
      if (isKept(present) && await startKeeper(directory)) {
        process.stdout.write('its keeper had ended; a new one watches it\n')
      }
      return 0
    }
    await stopStack(directory)
    const say = (/** @type {string} */ text) => { process.stderr.write(`${text}\n`) }
    const tooFew = openFilesWarning()
    if (tooFew !== null) say(`warning: ${tooFew}`)
    const origin = await openOrigin({ config, stack: 'wiki', outlive: true, signal, onProgress: say })
    const ports = { ...DEFAULT_PORTS, ...config.ports }
    const [tracesPort] = values.traces ? await freePorts(1, Object.values(ports)) : []
    const state = await startStack({
      directory,
      databaseDirectory: path.join(config.stateDirectory, 'database'),
      mongodbUri: config.mongodbUri,
      ports,
      origin,
      outlive: true,
      profile,
      wikiEnvironment: {
        CACHE_POLICY: policy, ...origin.facts.kind === 'local' && { STATUS_FILE: statusFileOf(directory) }
      },
      tracesPort,
      keepsZone: true,
      requestsAtOnceMax: REQUESTS_AT_ONCE_MAX,
      signal,
      onProgress: (part) => say(`starting ${part} …`)
    }).catch(async (error) => {
      await origin.close()
      throw error
    })
    if (isKept(state)) await startKeeper(directory)
    if (origin.facts.emulated) say('the origin is emulated: its response times are not those of a real board')
    if (values.profile !== undefined) for (const line of profileLines(profile)) process.stderr.write(`${line}\n`)
    process.stdout.write([
      'up:',
      ...doorLines(state.doors).map((line) => `  ${line}`),
      policyLine(policy),
      'the counter is at /wiki/stevec of each; stop with `stevec down` (or make down)\n'
    ].join('\n'))
    return 0
  }
}

/**
 * @param {import('../stack/state.js').StackState} present  which runs
 * @param {{values: Record<string, any>, profile: import('../profile/profile.js').Profile, policy: string}} asked
 * @throws {UsageError} when another stack was asked for
 */
function refuseOther (present, { values, profile, policy }) {
  const other = values.profile !== undefined && present.profile?.name !== profile.name
  if (other) {
    throw new UsageError(`already up, with the profile ${present.profile?.name ?? 'none'}; run \`stevec down\` first`)
  }
  const origin = present.origin?.facts.kind ?? 'local'
  if (values.origin !== undefined && origin !== values.origin.split(':')[0]) {
    throw new UsageError(`already up, with the origin ${origin}; run \`stevec down\` first`)
  }
  const before = present.cache_policy ?? ZONE_POLICY
  const otherPolicy = values.policy !== undefined && before !== policy
  if (otherPolicy) throw new UsageError(`already up, with the policy ${before}; run \`stevec down\` first`)
  if (values.traces && present.traces_port === undefined) {
    throw new UsageError('already up, without traces; run `stevec down` first')
  }
}

/**
 * The keeper restarts local processes only.
 * @param {import('../stack/state.js').StackState} state
 */
const isKept = (state) => (state.origin?.facts.kind ?? 'local') === 'local'

/**
 * @param {string | undefined} requested  --policy
 * @param {Record<string, string>} environment  the wiki's settings in this command's environment
 * @returns {string}
 * @throws {UsageError}
 */
function policyOption (requested, { CACHE_POLICY: inherited, PURGE_ZONE: zone }) {
  const known = requested === undefined || CACHE_POLICY_NAMES.some((name) => name === requested)
  if (!known) throw new UsageError(`--policy must be one of ${CACHE_POLICY_NAMES.join(', ')}, not "${requested}"`)
  return requested ?? (inherited || (zone === undefined ? POLICY : ZONE_POLICY))
}

/** @param {string} policy */
function policyLine (policy) {
  if (isFollowed(policy)) return `cache policy ${policy}: an edit shows within CACHE_BOUND_MS, whatever fails`
  if (!needsPurges(policy)) return `cache policy ${policy}; wiki-app/README.md says when an edit shows`
  return `cache policy ${policy}: an edit shows at once (the study's policy: stevec up --policy ttl)`
}
