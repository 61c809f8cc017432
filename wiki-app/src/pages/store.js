import { migrationsOf } from '../migrations/index.js'
import { createKeyedMutex } from '../process/keyed-mutex.js'
import { NO_GUARD } from '../protection/guard.js'
import { createCommit } from './commit.js'
import { COUNTS, createCounting } from './counts.js'
import { createCurrentHtml } from './current-html.js'
import { createLead } from './lead.js'
import { createLinkTargets, OUTDATED_LINKS } from './link-targets.js'
import { createNameReads } from './read-names.js'
import { createPageReads } from './read-pages.js'
import { createRename } from './rename-page.js'
import { createPrepare, createPreview, createRemove, createSave } from './save-page.js'
import { createSubpages } from './subpages.js'

/** @import {Renderer} from '../markdown/renderer.js' */
/** @import {Work} from '../queue/worker.js' */
/** @import {Later} from '../queue/queue.js' */
/** @import {Purges} from './commit.js' */

/** @typedef {ReturnType<typeof createPageStore>} PageStore */

/** @type {Purges} */
export const NO_PURGES = { ofCommits: () => [], ofCounted: () => [], ofEverything: () => [], added: () => {} }

/** @type {import('./commit.js').MovedLinks} */
const NO_LINKS = { move: async () => new Map(), forget: async () => {} }

/** @type {import('./commit.js').FanOutEdits} */
const NO_FAN_OUT = async () => {}

/** @type {import('./commit.js').Saving} */
const SYNC = { strategy: 'sync', max: 1, waitMs: 0 }

/** @type {import('./commit.js').Saving} */
const TOGETHER = { strategy: 'group-commit', max: 1_000, waitMs: 0 }

/**
 * All names are canonical.
 * @typedef {{models: import('./model.js').Models, renderer: Renderer, later: Later, readsAtOnce: number}} Required
 * @typedef {{purges?: Purges, shortLinks?: import('./commit.js').MovedLinks, saving?: import('./commit.js').Saving,
 *   fanOut?: import('./commit.js').FanOutEdits, guard?: import('../protection/guard.js').WriteGuard,
 *   mayTell?: import('./link-targets.js').MayTell}} Optional
 * @typedef {Required & Optional} Parts
 * @typedef {Pick<Parameters<typeof createPageReads>[0], 'createLoader' | 'readAfter'>} OfReads
 * @param {Parts & OfReads & {log: Pick<import('fastify').FastifyBaseLogger, 'warn'>}} parts
 */
export function createPageStore ({
  models, renderer, purges = NO_PURGES, later, shortLinks = NO_LINKS, fanOut = NO_FAN_OUT, guard = NO_GUARD,
  saving = SYNC, readsAtOnce, createLoader, readAfter, mayTell, log
}) {
  const { Pages } = models
  const runExclusive = createKeyedMutex()
  const targets = createLinkTargets(models, { later, mayTell })
  const subpages = createSubpages(models)
  const currentHtml = createCurrentHtml({ Pages, targets, later, renderer, runExclusive, log })
  const context = {
    models, targets, later, subpages, shortLinks, currentHtml, renderer, purges, fanOut, guard, runExclusive
  }
  const commit = createCommit(context, saving)
  const prepare = createPrepare(context)
  return {
    ...createPageReads({ Pages, currentHtml, renderer, readsAtOnce, createLoader, readAfter }),
    ...createNameReads(models),
    save: createSave(context, prepare, commit),
    prepare,
    /** For edits that were prepared before: each as `saving` says. */
    commit,
    /** The same, but with those that come at the same time in as few transactions as fit. */
    commitTogether: createCommit(context, TOGETHER),
    remove: createRemove(commit),
    rename: createRename(context),
    lead: createLead(context),
    preview: createPreview(context),
    findSubpages: subpages.find,
    findTree: subpages.stored,
    /** What `later` was given, for the queue. @type {Record<string, Work>} */
    works: {
      [COUNTS]: createCounting(models, { targets, later, purges }),
      [OUTDATED_LINKS]: {
        step: ({ name, done_up_to: doneUpTo }) => targets.markPart(name, doneUpTo),
        // Caches may have got pages since the edit that were not marked yet.
        finish: (_entry, session) => later(purges.ofEverything(), session),
        finished: purges.added
      }
    },
    migrations: migrationsOf(context),
    /** Queued pages stay as stored. */
    close: async () => currentHtml.close()
  }
}
