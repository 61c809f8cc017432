/**
 * What a reader of another wiki yields. `source` names a thing in the words of that wiki, for the report: `Talk:Bees`,
 * `wiki/bees.txt`. Readers check nothing: names, texts and authors may be anything.
 *
 * @typedef {MovedPage | MovedRedirect | MovedPicture | Untaken | LeftOut} Moved
 */

/**
 * @typedef {object} MovedPage
 * @property {'page'} kind
 * @property {string} source
 * @property {string} name  of the page in this wiki
 * @property {string} [id]  that stays when the page is renamed in its wiki, and that no other page of any wiki has
 * @property {AsyncIterable<MovedRevision | LostRevision>} revisions  oldest first; read once, before the next thing of
 *   the reader
 */

/**
 * A revision of which the wiki has no text any more. It is never written; it may be here since it had one.
 * @typedef {{id: string, isLost: true}} LostRevision
 */

/**
 * @typedef {object} MovedRevision
 * @property {string} id  of the revision in its wiki: the same in each run, and in no other revision of its page
 * @property {string} content  Markdown, with links as in this wiki
 * @property {string[]} [tags]
 * @property {string} author  '' for none
 * @property {string} summary  may be ''
 * @property {Date} createdAt
 * @property {boolean} [deleted]  the page was deleted then: `content` is ''
 * @property {string} [problem]  why the text is not as in that wiki, a sentence
 */

/**
 * An old name that leads to a page.
 * @typedef {object} MovedRedirect
 * @property {'redirect'} kind
 * @property {string} source
 * @property {string} name
 * @property {string} to  the page's name in this wiki
 */

/**
 * Readers yield pictures, and other files, before the pages that show them.
 * @typedef {object} MovedPicture
 * @property {'picture'} kind
 * @property {string} source
 * @property {() => Promise<Buffer>} read
 * @property {string} [alt]  what it shows
 * @property {string} [author]
 * @property {string} [name]  of a file that need not be a picture
 * @property {(url: string) => void} stored  takes the picture's address in this wiki; texts that are read afterwards
 *   may contain it
 */

/**
 * @typedef {object} Untaken
 * @property {'untaken'} kind
 * @property {string} source
 * @property {string} reason  a sentence
 */

/**
 * What nobody asked for, counted: pages of other namespaces, files without a text.
 * @typedef {object} LeftOut
 * @property {'left-out'} kind
 * @property {string} source  what they have in common
 * @property {number} count
 * @property {string} reason  a sentence
 */

/**
 * @typedef {(path: string, options: ReaderOptions) => AsyncIterable<Moved>} Reader
 * @typedef {object} ReaderOptions
 * @property {AbortSignal} [signal]
 * @property {Convert} [convert]  of readers whose texts are not Markdown
 * @property {string} [pictures]  a folder of pictures beside the file
 * @property {string[]} [namespaces]  to take, of wikis that have some; default: the main one
 * @property {boolean} [includeFiles]  also pictures that the file itself holds
 * @property {(done: number, total: number) => void} [onRead]  bytes or pages, for the progress
 * @property {(page: Pick<MovedPage, 'source' | 'name' | 'id'>) => Promise<string | null>} [newestStored]  the id of the
 *   newest revision that is here already. The content of that one and of those before it may be '', so that a reader
 *   need not convert it; it yields them still
 */

/**
 * Markup to Markdown, many texts at once: they are converted in parallel. Texts that cannot be converted become a code
 * block of themselves, so that nothing is lost. Calls with the same `about` (the very object) are of one page, and its
 * functions give the same answers: what its texts have in common is converted once.
 * @typedef {(texts: string[], about?: AboutTexts) => Promise<Converted[]>} Convert
 * @typedef {object} Converted
 * @property {string} content
 * @property {string[]} [tags]  categories that the text names, as it names them
 * @property {string} [problem]  why it is not converted, a sentence
 */

/**
 * What the texts of a page do not say themselves.
 * @typedef {object} AboutTexts
 * @property {string} [page]  the page's name in its wiki, which relative links start from: `Talk:Bees`, `wiki:bees`
 * @property {(name: string) => string | undefined} [pageName]  the name here of a page there; undefined: as it is
 * @property {(name: string) => string | undefined} [pictureUrl]  the address here of a picture there, of which the name
 *   is given without `File:` (MediaWiki: `Red bee.png`) or with its namespace (DokuWiki: `wiki:bee.png`); undefined:
 *   there is none
 * @property {Record<number, string[]>} [namespaces]  MediaWiki's, by their number: first the wiki's own name, then
 *   others, besides the English ones, which it always knows
 * @property {boolean} [caseSensitive]  true: MediaWiki where names may begin with a small letter
 */

export {}
