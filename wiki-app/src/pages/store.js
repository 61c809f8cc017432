import { migrationsOf } from '../migrations/index.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { createCommit } from './commit.js'
import { createCurrentHtml } from './current-html.js'
import { createLinkTargets } from './link-targets.js'
import { createPageReads } from './read-pages.js'
import { createRename } from './rename-page.js'
import { createPreview, createRemove, createSave } from './save-page.js'

/** @typedef {ReturnType<typeof createPageStore>} PageStore */

/** For a wiki without caches to purge. @type {import('./commit.js').Outbox} */
const SILENT = { add: async () => {}, added: () => {} }

/**
 * Reads the newest state of single pages, and does every write. All names are canonical.
 * @param {object} options
 * @param {ReturnType<typeof import('./model.js').defineModels>} options.models
 * @param {import('../markdown/renderer.js').Renderer} options.renderer
 * @param {import('./commit.js').Outbox} [options.outbox]
 * @param {number} options.readsAtOnce  maximum number of pages in one database read
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
    migrations: migrationsOf(context),
    /** Pages still queued for rendering stay as they are stored. */
    close: async () => currentHtml.close()
  }
}
