import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { removeGroups, setCpuShare } from '@stevec/harness/cgroup'
import { createLimits } from '@stevec/harness/limits'
import { mediawiki } from '@stevec/wiki-app/bench/peers/mediawiki'
import { handOver, php } from '@stevec/wiki-app/bench/peers/php'
import { createServers } from '@stevec/wiki-app/bench/servers'
import { secondOf } from '../../scenarios/crawl-addresses.js'
import { ask, textOf } from './requests.js'

const PAGES_AT_ONCE = 20
const IMPORT = '/usr/share/mediawiki/maintenance/importDump.php'

/**
 * @param {import('./stevec.js').Wanted} wanted
 * @returns {Promise<import('./stevec.js').Subject>} MediaWiki without a cache in front, with the same revisions
 */
export async function startMediawiki ({ share, note, pages, revisions }) {
  const lacking = mediawiki.lacks()
  if (lacking !== null) throw new Error(`MediaWiki is not installed (no ${lacking}): ${mediawiki.install}`)
  const limits = createLimits({ cpu_share: share, memory_bytes: null }, () => {})
  if (limits.controllers.cpu === undefined) throw new Error(`the CPU cannot be limited: ${limits.missing.cpu}`)
  const servers = createServers({ cgroups: limits.directories })
  const stop = async () => {
    await servers.stopAll()
    await removeGroups(limits.directories)
  }
  try {
    note(`starts MediaWiki ${mediawiki.version()} …`)
    const { url } = await mediawiki.start(servers, textOf(0, 0))
    const home = path.join(servers.directory, 'mediawiki')
    const settings = path.join(home, 'LocalSettings.php')
    // Else it takes 8 edits a minute from one address.
    appendFileSync(settings, '\n$wgGroupPermissions["*"]["noratelimit"] = true;\n')
    for (let from = 0; from < pages; from += PAGES_AT_ONCE) {
      note(`imports page ${from} of ${pages} …`)
      php([IMPORT, '--conf', settings, '--no-updates'], dump(from, Math.min(pages, from + PAGES_AT_ONCE), revisions), {
        MW_CONFIG_FILE: settings
      })
    }
    handOver(home)
    const first = await firstRevision(url)
    return { origin: url, url, first, slow: async () => setCpuShare(limits, share), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param {string} url @returns {Promise<number>} the number of the oldest revision of page 0 */
async function firstRevision (url) {
  const query = 'action=query&format=json&formatversion=2&prop=revisions&titles=Page-0&rvdir=newer&rvlimit=1&rvprop=ids'
  const { query: { pages: [page] } } = JSON.parse(await ask(`${url}/api.php?${query}`))
  return page.revisions[0].revid
}

/**
 * https://www.mediawiki.org/wiki/Help:Export
 * @param {number} from @param {number} to @param {number} revisions
 */
function dump (from, to, revisions) {
  const pages = Array.from({ length: to - from }, (_, index) => {
    const items = Array.from({ length: revisions }, (_, at) =>
      `<revision><timestamp>2020-01-01T00:00:${secondOf(at + 1)}Z</timestamp>` +
      '<contributor><username>Import</username></contributor><model>wikitext</model><format>text/x-wiki</format>' +
      `<text>${textOf(from + index, at + 1)}</text></revision>`)
    return `<page><title>Page-${from + index}</title><ns>0</ns>${items.join('')}</page>`
  })
  const root = 'mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en"'
  return `<${root}>${pages.join('')}</mediawiki>`
}
