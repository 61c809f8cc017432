/** @import {Convert, Reader} from './content.js' */

/**
 * `from`: the markup that a converter takes; absent where texts are Markdown.
 * @typedef {{reader: () => Promise<Reader>, from?: 'mediawiki' | 'dokuwiki', does: string}} Kind
 */

/** Of wikis that can be moved in. Loaded when it is needed. @type {Record<string, Kind>} */
export const KINDS = {
  mediawiki: {
    reader: async () => (await import('./mediawiki/reader.js')).readMediaWiki,
    from: 'mediawiki',
    does: 'an XML dump of MediaWiki (dumpBackup.php --full, Special:Export), .xml or .xml.gz'
  }
}

/**
 * @param {Kind} kind
 * @returns {Promise<{convert?: Convert, close: () => Promise<void>}>}
 */
export async function converterOf ({ from }) {
  if (from === undefined) return { close: async () => {} }
  // A specifier that is no literal: the module may be absent.
  const { createPandoc } = await import(new URL('./pandoc/pandoc.js', import.meta.url).href)
  return createPandoc({ from })
}
