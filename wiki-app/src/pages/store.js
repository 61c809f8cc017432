import { createKeyedMutex } from '../process/keyed-mutex.js'
import { createCommit } from './commit.js'
import { createCurrentHtml } from './current-html.js'
import { createLinkTargets } from './link-targets.js'
import { createPageReads } from './read-pages.js'
import { createRename } from './rename-page.js'
import { createPreview, createRemove, createSave } from './save-page.js'
import { createUpgrade } from './upgrade-pages.js'

/** @typedef {ReturnType<typeof createPageStore>} PageStore */

/** For a wiki without caches to purge. @type {import('./commit.js').Outbox} */
const SILENT = { add: async () => {}, added: () => {} }

/**
 * All access to the newest state of single pages, and every write. Names are canonical ones.
 * @param {object} options
 * @param {ReturnType<typeof import('./model.js').defineModels>} options.models
 * @param {import('../markdown/renderer.js').Renderer} options.renderer
 * @param {import('./commit.js').Outbox} [options.outbox]
 * @param {number} options.readsAtOnce  pages in one read of the database, at most
 * @param {Pick<import('fastify').FastifyBaseLogger, 'warn'>} options.log
 */
export function createPageStore ({ models, renderer, outbox = SILENT, readsAtOnce, log }) {
  const { Pages } = models
  const inTurn = createKeyedMutex()
  const targets = createLinkTargets(models)
  const currentHtml = createCurrentHtml({ Pages, targets, renderer, inTurn, log })
  const context = { models, targets, currentHtml, renderer, outbox, inTurn }
  const commit = createCommit(context)
  return {
    ...createPageReads({ Pages, currentHtml, renderer, readsAtOnce }),
    save: createSave(context, commit),
    remove: createRemove(commit),
    rename: createRename(context),
    preview: createPreview(context),
    upgrade: createUpgrade(context),
    /** Pages that wait to be rendered again stay as they are stored. */
    close: async () => currentHtml.close()
  }
}
