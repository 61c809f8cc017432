/** @import {Moved, MovedRevision} from '../src/moving/content.js' */

/**
 * Takes what a reader yields, as the import does: a page's revisions before the next thing.
 * @param {AsyncIterable<Moved>} reading
 * @param {Record<string, string>} [urls]  of pictures in the wiki, by the last part of their source
 */
export async function takeAll (reading, urls = {}) {
  /** @type {Record<string, MovedRevision[]>} */
  const pages = {}
  /** @type {Record<string, string>} */
  const redirects = {}
  /** @type {Record<string, {alt?: string, author?: string, bytes: Buffer}>} */
  const pictures = {}
  /** @type {Record<string, string>} */
  const untaken = {}
  /** @type {Record<string, string>} */
  const leftOut = {}
  for await (const moved of reading) {
    const { kind, source } = moved
    if (kind === 'page') {
      if (Object.hasOwn(pages, moved.name)) throw new Error(`the page ${moved.name} comes twice`)
      pages[moved.name] = []
      for await (const revision of moved.revisions) if (!('isLost' in revision)) pages[moved.name].push(revision)
    } else if (kind === 'redirect') redirects[moved.name] = moved.to
    else if (kind === 'picture') {
      const { alt, author } = moved
      pictures[source] = { alt, ...author !== undefined && { author }, bytes: await moved.read() }
      moved.stored(urls[source.slice(source.lastIndexOf('/') + 1)] ?? `/files/${source}`)
    } else if (kind === 'left-out') leftOut[source] = moved.reason
    else untaken[source] = moved.reason
  }
  return { pages, redirects, pictures, untaken, leftOut }
}
