/**
 * A planted fault: in a file below nginx/lua (edge), wiki-app/src (wiki) or beside this one (database), `from` becomes
 * `to`.
 * @typedef {{name: string, where: 'edge' | 'wiki' | 'database', file: string, from: string, to: string}} Mutation
 */

/**
 * @param {Mutation['where']} where @param {string} file
 * @returns {(name: string, from: string, to: string) => Mutation}
 */
const inFile = (where, file) => (name, from, to) => ({ name, where, file, from, to })

const purgeLog = inFile('edge', 'purge_log.lua')
const logAnswer = inFile('edge', 'log_answer.lua')
const decide = inFile('edge', 'decide.lua')
const freshness = inFile('edge', 'freshness.lua')
const purges = inFile('edge', 'purges.lua')
const watch = inFile('wiki', 'purge-log/watch.js')
const routes = inFile('wiki', 'purge-log/routes.js')
const reads = inFile('wiki', 'reading/bounded-reads.js')
const replicaSet = inFile('database', 'replica-set.js')

/** Faults of the protocol that could be made, one line each: the simulation has to find each of them. */
export const MUTANTS = Object.freeze([
  purgeLog('a lease never ends', 'return until_ms ~= nil and _M.now_ms() < until_ms', 'return until_ms ~= nil'),
  purgeLog('a lease is half as long again', 'bound_ms * OWN_PART', 'bound_ms * 1.5'),
  logAnswer('a lease is as long as any may be', 'said.certified_ms, said.bound_ms)', 'said.certified_ms, 60000)'),
  logAnswer('the lease counts from the answer', 'asked_ms + said.certified_ms',
    'purge_log.now_ms() + said.certified_ms'),
  logAnswer('purges are not marked', 'for _, tag in ipairs(said.tags or {}) do purges.tag(tag, false) end', ''),
  logAnswer('only the first of several tags is marked', 'ipairs(said.tags or {})', 'ipairs({ (said.tags or {})[1] })'),
  logAnswer('a lost log makes nothing stale', 'if said.everything then purges.everything(true) end', ''),
  decide('the lease is not looked at', 'entry.bounded and not request.leased or is_before', 'is_before'),
  freshness('pages count as any other response', 'return directives, true, true', 'return directives, true, false'),
  freshness('a soft purge makes nothing stale', 'entry.stale_since_s and', 'false and'),
  purges('the purge clock stands', 'dict:incr("clock", 1), soft', 'dict:get("clock"), soft'),
  purges('the last purge does not count', 'clock > since and', 'clock > since + 1 and'),
  purges('tags do not count',
    'for index = 1, #entry.tags do names', 'for index = 1, 0 do names'),
  purges('what was judged once is not judged again', 'if entry.judged_at == now then', 'if entry.judged_at then'),
  purges('soft purges are not looked up', 'marked_s(entry.clock, true, names)', 'nil'),
  purges('everything is not looked up', 'local names = { "floor", "h:"', 'local names = { "none", "h:"'),
  purges('marks have another name than the one that is looked up', 'mark(soft, "t:" .. string.lower(tag), "tags")',
    'mark(soft, "T:" .. string.lower(tag), "tags")'),
  watch('a certificate counts from its end', 'newest = { position, began }',
    'newest = { position, began: momentNow() }'),
  watch('any certificate will do', 'const found = current(ageMaxMs, position)', 'const found = newest'),
  watch('the age of a certificate is not looked at', 'since(newest.began) > ageMaxMs || ', ''),
  watch('pages are read from a primary that does not know yet what a majority has', 'reached: () => reached',
    'reached: () => undefined'),
  watch('a broken stream is not noticed', '      forget()\n      news.tell()', '      news.tell()'),
  watch('after a break the log is thought to be whole', '    knownFrom = null\n', ''),
  watch('entries that are dropped leave no gap', 'knownFrom = entries.splice(0, dropped)[dropped - 1].position',
    'entries.splice(0, dropped)'),
  watch('an entry that means everything is left out', 'if (stale.everything || tags.size > TAGS_MAX) return null',
    'if (stale.everything) continue'),
  watch('certificates are dated by the time of day', '  const news = createNews(clock)',
    '  clock = { ...clock, now: clock.wall, uptime: clock.wall }\n  const news = createNews(clock)'),
  watch('nobody notices that a machine slept', 'Math.max(clock.now() - ms, clock.uptime() - uptimeMs + UPTIME_STEP_MS)',
    'clock.now() - ms'),
  watch('a gap in the log is accepted', 'position >= knownFrom &&', 'true &&'),
  watch('the log is thought to be known from its beginning', 'knownFrom ??= position', "knownFrom ??= '0'"),
  watch('entries between two marks are not kept', 'fullDocument?.stale !== undefined && knownFrom !== null',
    'fullDocument?.stale !== undefined && knownFrom !== null && begun.size > 0'),
  watch('only the newest entry is sent', 'for (let index = entries.length - 1; index >= 0 &&',
    'for (let index = entries.length - 1; index >= entries.length - 1 &&'),
  routes('an answer hides how old its certificate is', 'clock.now() - cameMs - ageMs',
    'clock.now() - cameMs + boundMs / 4'),
  routes('a lost log is said to be empty', '{ everything: /** @type {const} */ (true) }', '{ tags: [] }'),
  reads('pages are read with certificates of any age', 'boundMs / 2 : 0', 'boundMs * 100 : 0'),
  reads('the first look takes any certificate', 'watch.current(ageMaxMs, after)', 'watch.current(1e9, after)'),
  replicaSet('writes are acknowledged before they are on a disk (j: false)', '({ synced }) => synced)',
    '({ has }) => has)'),
  replicaSet('writes are acknowledged by one server (w: 1)', 'onDisk[MAJORITY - 1]', 'onDisk[0]'),
  replicaSet('a server with a shorter log may be elected', 'voter.has <= has).length', 'voter.has <= has + 1e9).length')
])
