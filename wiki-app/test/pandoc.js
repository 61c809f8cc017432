import { requireTool } from '@stevec/harness/tools/locate'
import { createPandoc } from '../src/moving/pandoc/pandoc.js'

/** @import {AboutTexts, Converted} from '../src/moving/content.js' */

/**
 * @param {import('node:test').TestContext} t
 * @param {Partial<Parameters<typeof createPandoc>[0]>} [options]
 */
export function pandocFor (t, options = {}) {
  const pandoc = createPandoc({ from: 'mediawiki', command: requireTool('pandoc').path, processes: 1, ...options })
  t.after(pandoc.close)
  return {
    ...pandoc,
    /** @param {string} text @param {AboutTexts} [about] @returns {Promise<Converted>} */
    one: async (text, about) => (await pandoc.convert([text], about))[0]
  }
}
