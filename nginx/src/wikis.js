/** Each set of them has an upstream group: 255. */
const WIKIS_MAX = 8
const IPV4_AND_PORT = /^(?:\d{1,3}\.){3}\d{1,3}:\d{1,5}$/

/** @typedef {Pick<import('./role.js').OriginRole, 'wikiPort' | 'wikiAddresses' | 'requestsAtOnceMax'>} Wikis */

/**
 * Whether nginx asks the wikis if they are ready: among several, and with its Lua module.
 * @param {Wikis} role
 * @param {string} modulesDirectory  empty: there is no Lua module
 */
export const areChecked = (role, modulesDirectory) => addressesOf(role).length > 1 && modulesDirectory !== ''

/** @param {Wikis} role */
const addressesOf = ({ wikiAddresses, wikiPort }) =>
  wikiAddresses ?? [wikiPort ?? []].flat().map((port) => `127.0.0.1:${port}`)

/**
 * Returns what the template of the role origin needs to balance over its wikis.
 * @param {Wikis} role
 * @param {string} modulesDirectory  see areChecked
 * @throws {Error} when there are too many wikis, none, or something that is no address
 */
export function wikisView (role, modulesDirectory) {
  const wikis = addressesOf(role)
  if (wikis.length > WIKIS_MAX) throw new Error(`one nginx balances ${WIKIS_MAX} wikis at most, not ${wikis.length}`)
  const wrong = wikis.length === 0 ? '' : wikis.find((address) => !IPV4_AND_PORT.test(address))
  if (wrong !== undefined) throw new Error(`the role origin needs wikis as ip:port, not "${wrong}"`)
  const checked = areChecked(role, modulesDirectory)
  const atOnceMax = role.requestsAtOnceMax ?? 0
  const groups = (checked ? upstreamGroups(wikis) : [{ name: 'wiki', addresses: wikis }]).flatMap((group) => [
    { ...group, atOnceMax, connections: group.addresses.length === wikis.length ? 1024 : 256 },
    ...atOnceMax === 0 ? [] : costlyOf(group, atOnceMax)
  ])
  return { wikis, several: wikis.length > 1, checked, groups, atOnceMax }
}

/**
 * Returns the groups that costly reads go to, so that they leave all slots of the other one to page views and writes
 * (conf/costly.conf). A sweep over old texts takes no slot of searches and lists, and few of its own: the wiki parses
 * and refuses nearly all that a sweep brings to it, and nginx refuses at a lower cost.
 * @param {{name: string, addresses: string[]}} group @param {number} atOnceMax
 */
const costlyOf = ({ name, addresses }, atOnceMax) =>
  /** @type {const} */ ([['costly', 4], ['old', 16]]).map(([kind, share]) =>
    ({ name: `${name}_${kind}`, addresses, atOnceMax: Math.ceil(atOnceMax / share), connections: 32 }))

/**
 * Returns an upstream group for each set of wikis that may be ready: `wiki` of all, `wiki_1_3` of the first and third.
 * @param {string[]} wikis
 * @returns {{name: string, addresses: string[]}[]}
 */
function upstreamGroups (wikis) {
  const all = (1 << wikis.length) - 1
  return Array.from({ length: all }, (_, index) => {
    const members = [...wikis.keys()].filter((wiki) => (index + 1) & (1 << wiki))
    const name = index + 1 === all ? 'wiki' : `wiki_${members.map((wiki) => wiki + 1).join('_')}`
    return { name, addresses: members.map((wiki) => wikis[wiki]) }
  })
}
