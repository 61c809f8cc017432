/** @import {Convert, Reader} from './content.js' */

/** Of the reader's, see content.js. @typedef {'namespaces' | 'pictures' | 'includeFiles'} Choice */

/**
 * @typedef {object} Kind
 * @property {() => Promise<Reader>} reader
 * @property {'mediawiki' | 'dokuwiki'} [from]  the markup that pandoc converts; absent where texts are Markdown
 * @property {string} does
 * @property {Choice[]} [choices]  what the reader has a use for
 * @property {boolean} [hasOldAddresses]  there is a map of them, see old-addresses.js
 * @property {boolean} [isFolder]
 */

/** Of wikis that can be moved in. Loaded when it is needed. @type {Record<string, Kind>} */
export const KINDS = {
  mediawiki: {
    reader: async () => (await import('./mediawiki/reader.js')).readMediaWiki,
    from: 'mediawiki',
    does: 'an XML dump of MediaWiki (dumpBackup.php --full, Special:Export), .xml or .xml.gz',
    choices: ['namespaces', 'pictures', 'includeFiles'],
    hasOldAddresses: true
  },
  dokuwiki: {
    reader: async () => (await import('./dokuwiki/reader.js')).read,
    from: 'dokuwiki',
    does: 'the folder data of DokuWiki, as it is on its server',
    isFolder: true
  },
  git: {
    reader: async () => (await import('./git/read.js')).readGit,
    does: 'a repository of Markdown, maybe from `stevec export git`',
    isFolder: true
  },
  markdown: {
    reader: async () => (await import('./markdown/read.js')).readMarkdown,
    does: 'a folder of Markdown and pictures: Obsidian, MkDocs',
    isFolder: true
  }
}

/**
 * @param {Kind} kind @param {string} [pandoc]  its path
 * @returns {Promise<{convert?: Convert, close: () => Promise<void>}>}
 */
export async function converterOf ({ from }, pandoc) {
  if (from === undefined) return { close: async () => {} }
  const { createPandoc } = await import('./pandoc/pandoc.js')
  return createPandoc({ from, command: pandoc })
}
