import { t } from '../language.js'
import { readableDuration } from '../readable.js'
import { htmlText, tag } from '../views.js'
import { differenceUrl } from '../pages/name.js'

/** @import {CachePolicy} from '../caching/cache-policy.js' */

/**
 * When the author and others will see the new text.
 * @typedef {(names: string[]) => Promise<boolean>} IsPurged  whether the caches have confirmed
 * @param {{policy: CachePolicy, isPurged?: IsPurged}} options
 * @returns {(name: string, revision: number, merged?: number | null) => Promise<string>} HTML; `merged`: the revision
 *   of someone else that the saved one has within it
 */
export function createSavedNotice ({ policy, isPurged = async () => false }) {
  return async (name, revision, merged = null) => {
    const saved = t('Saved as revision {{revision}}.', { revision })
    const both = merged === null ? '' : ` ${mergedWith(name, revision, merged)}`
    const seen = await seenWhen(policy, () => isPurged([name]))
    return `<p class="notice" role="status">${saved}${both} ${seen}</p>`
  }
}

/** @param {CachePolicy} policy @param {() => Promise<boolean>} isPurged */
async function seenWhen (policy, isPurged) {
  if (policy.boundMs !== undefined) return withinBound(policy.boundMs, policy.beyondBoundS)
  return policy.purgedBy === null ? untilExpiry(policy) : afterPurge(policy, await isPurged())
}

/** @param {string} name @param {number} revision @param {number} merged */
const mergedWith = (name, revision, merged) => htmlText(
  'It is merged with revision {{merged}}, which someone saved while you were editing ' +
    '(<a>what you changed in it</a>).',
  { merged }, { a: tag('a', { href: differenceUrl(name, merged, revision) }) })

/** @param {number} boundMs @param {number} [beyondBoundS] */
const withinBound = (boundMs, beyondBoundS = 0) => beyondBoundS === 0
  ? t('Everybody sees it within {{ms}} milliseconds.', { ms: boundMs })
  : t('Everybody sees it within {{ms}} milliseconds; behind a cache that this wiki does not reach, up to ' +
    '{{duration}} later.', { ms: boundMs, duration: readableDuration(beyondBoundS) })

/** @param {CachePolicy} policy */
function untilExpiry ({ staleS }) {
  if (staleS === 0) return t('Everybody sees it from now on.')
  return t('This address shows it. Elsewhere you and others may see the previous text for up to {{duration}}: ' +
    'caches keep it, your browser’s among them.', { duration: readableDuration(staleS) })
}

/** @param {CachePolicy} policy @param {boolean} confirmed */
function afterPurge ({ unpurgedStaleS }, confirmed) {
  if (confirmed) return t('The caches have forgotten the previous text. Everybody sees it from now on.')
  return t('This address shows it. The caches have not confirmed yet that they forgot the previous text: until they ' +
    'do, you and others may see it elsewhere, for up to {{duration}}.', { duration: readableDuration(unpurgedStaleS) })
}
