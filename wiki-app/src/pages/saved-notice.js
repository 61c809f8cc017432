/**
 * Creates the notice above a page that was just saved: when the author and others will see the new text.
 * @param {object} options
 * @param {import('../caching/cache-policy.js').CachePolicy} options.policy
 * @param {(names: string[]) => Promise<boolean>} [options.isPurged]  whether the caches have confirmed the purges of
 *   these pages; without it no cache is purged
 * @returns {(name: string, revision: number) => Promise<string>} HTML
 */
export function createSavedNotice ({ policy, isPurged = async () => false }) {
  return async (name, revision) => {
    const seen = policy.purgedBy === null ? livedOut(policy) : purged(policy, await isPurged([name]))
    return `<p class="notice" role="status">Saved as revision ${revision}. ${seen}</p>`
  }
}

const EVERYBODY = 'Everybody sees it from now on.'

/** @param {import('../caching/cache-policy.js').CachePolicy} policy */
function livedOut ({ staleS }) {
  if (staleS === 0) return EVERYBODY
  return 'This address shows it. Elsewhere you and others may see the previous text for up to ' +
    `${staleS} s: caches keep it, your browser’s among them.`
}

/**
 * @param {import('../caching/cache-policy.js').CachePolicy} policy
 * @param {boolean} told  whether the caches have confirmed the purge
 */
function purged ({ untoldStaleS }, told) {
  if (told) return `The caches have forgotten the previous text. ${EVERYBODY}`
  return 'This address shows it. The caches have not confirmed yet that they forgot the previous text: ' +
    `until they do, you and others may see it elsewhere, for up to ${untoldStaleS} s.`
}
