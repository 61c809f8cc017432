/**
 * A second implementation of RFC 9111's freshness, independent of lua/freshness.lua: it works on the meaning (a list of
 * directives, numbers of seconds), not on header text. Where the two disagree, one of them is wrong.
 * @typedef {{kind: 'none'} | {kind: 'seconds', value: number} | {kind: 'invalid', text: string}} Argument
 * @typedef {{name: string, argument: Argument}} Directive
 * @typedef {object} Meaning
 * @property {number} status
 * @property {Directive[]} directives  of Cache-Control, in their order
 * @property {Directive[] | null} targeted  of CDN-Cache-Control; null: absent or void
 * @property {number | 'invalid' | null} expiresInS  against Date
 * @property {'GMT' | 'UTC' | 'EST' | '+0000'} expiresZone
 * @property {number | null} dateAgoS  null: no Date
 * @property {number | null} ageS
 * @property {boolean} etag
 * @property {number | null} modifiedAgoS  before Date
 * @property {'none' | 'star' | 'name'} vary
 * @property {boolean} setCookie
 * @property {boolean} authorized
 */

const HEURISTIC = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
const CLOUDFLARE_TTL_S = new Map([[200, 7200], [301, 7200], [302, 1200], [303, 1200], [404, 180], [410, 180]])
const UNKNOWN = [299, 499, 599]

/**
 * @param {Meaning} meaning
 * @param {'rfc9111' | 'cloudflare'} profile
 * @returns {{storable: boolean, reusable: boolean, lifetimeS: number, staleForbidden: boolean}}
 */
export function model (meaning, profile) {
  const effective = meaning.targeted ?? meaning.directives
  // In Cache-Control the first of two equal directives counts, in a dictionary the last.
  const ordered = meaning.targeted ? [...effective].reverse() : effective
  const find = (/** @type {string} */ name) => ordered.find((directive) => directive.name === name)
  const seconds = (/** @type {string} */ name) => {
    const argument = find(name)?.argument
    return argument === undefined ? undefined : argument.kind === 'seconds' ? argument.value : 0
  }
  const age = Math.max(meaning.dateAgoS ?? 0, meaning.ageS ?? 0, 0)
  let lifetime = seconds('s-maxage') ?? seconds('max-age')
  if (lifetime === undefined && !meaning.targeted && meaning.expiresInS !== null) {
    const isValid = meaning.expiresInS !== 'invalid' && meaning.expiresZone === 'GMT'
    lifetime = isValid ? Math.max(0, Number(meaning.expiresInS)) : 0
  }
  const explicit = lifetime !== undefined
  if (!explicit && profile === 'cloudflare') lifetime = CLOUDFLARE_TTL_S.get(meaning.status)
  if (
    !explicit && profile === 'rfc9111' && (HEURISTIC.includes(meaning.status) || find('public')) &&
    meaning.modifiedAgoS !== null && meaning.modifiedAgoS > 0
  ) {
    lifetime = Math.min(86400, Math.floor(meaning.modifiedAgoS * 0.1))
  }
  const staleForbidden = ['must-revalidate', 'proxy-revalidate', 's-maxage', 'no-cache'].some(find)
  const windowS = (/** @type {string} */ name) => staleForbidden ? 0 : seconds(name) ?? 0
  const forbidden =
    (find('must-understand') ? UNKNOWN.includes(meaning.status) : Boolean(find('no-store'))) ||
    Boolean(find('private')) || meaning.vary === 'star' || meaning.status === 206 ||
    (meaning.authorized && !['public', 's-maxage', 'must-revalidate'].some(find)) ||
    (meaning.setCookie && (profile === 'cloudflare' || !explicit)) ||
    (profile === 'cloudflare' && (Boolean(find('no-cache')) ||
      (explicit && lifetime === 0 &&
        !['stale-while-revalidate', 'stale-if-error'].some((name) => find(name)?.argument.kind === 'seconds'))))
  const allowed = lifetime !== undefined ||
    (profile === 'rfc9111' && (Boolean(find('public')) || HEURISTIC.includes(meaning.status)))
  const reusable = lifetime !== undefined && lifetime > age && !find('no-cache')
  const useful = reusable || meaning.etag || meaning.modifiedAgoS !== null ||
    windowS('stale-while-revalidate') > 0 || windowS('stale-if-error') > 0
  const storable = !forbidden && allowed && useful
  return { storable, reusable: storable && reusable, lifetimeS: lifetime ?? 0, staleForbidden }
}
