import { archiveOf } from '../archive/export.js'
import { whileAvailable } from '../database/while-available.js'
import { createErasure } from '../history/erasure.js'
import { createSemaphore } from '../http/semaphore.js'
import { HTML_FACTOR_MAX } from '../markdown/renderer.js'
import { NO_PURGES } from '../pages/store.js'
import { createProposals } from '../proposals/proposals.js'
import { createGuard } from '../protection/guard.js'
import { createProtections } from '../protection/protections.js'
import { createSpaceFiles } from './files.js'
import { createFindSpace, rangesOf } from './find-space.js'
import { createGroups } from './groups.js'
import { createSpaceGuards } from './guards.js'
import { createSpaceLists } from './lists.js'
import { defineSpaces } from './model.js'
import { createSpaceScope } from './scope.js'
import { createSpaces } from './spaces.js'
import { createSpaceStores } from './stores.js'

/** @import {Database} from '../database/database.js' */
/** @import {PicturesOfSpaces} from '../files/pictures.js' */
/** @import {PageStore} from '../pages/store.js' */
/** @import {Models} from '../pages/model.js' */
/** @import {Purges} from '../pages/commit.js' */
/** @import {peopleOf} from '../people/people.js' */
/** @import {Protection} from '../protection/guard.js' */
/** @import {Config} from '../settings.js' */
/** @import {Space} from './model.js' */

/** @typedef {ReturnType<typeof beginSpaces>} Begun */
/** @typedef {ReturnType<typeof createSpaceServices>} SpaceServices */

/**
 * What the public store needs of the spaces.
 * @param {Database} database @param {Protection} [protection]
 */
export function beginSpaces ({ connection }, protection) {
  const models = defineSpaces(connection)
  const finding = createFindSpace(models)
  const guard = createGuard(models.Rules)
  return { models, finding, guard, guards: createSpaceGuards(finding, protection, guard) }
}

/**
 * @typedef {Pick<Parameters<typeof createSpaceStores>[0], 'later' | 'renderer' | 'log' | 'pool' | 'makeOldRevisions'>}
 *   OfStores
 * @typedef {Pick<ReturnType<typeof peopleOf>, 'audit' | 'users' | 'members'>} People
 * @param {Begun} begun
 * @param {OfStores & {config: Config, database: Database, publicModels: Models, purges?: Purges, people: People,
 *   pictures: {ofSpaces: PicturesOfSpaces}}} parts
 */
export function createSpaceServices ({ models, finding, guard, guards }, parts) {
  const {
    config, database, publicModels, purges = NO_PURGES, people: { audit, users, members }, pictures, ...others
  } = parts
  if (!audit || !users || !members) throw new Error('spaces are for a wiki that knows people by name')
  const { connection } = database
  const { isInFile } = users
  const reviewing = { audit, isInFile, scope: createSpaceScope(models, finding) }
  const protections = createProtections({ models: models.inside, guard, ...reviewing })
  const proposals = createProposals({ connection, model: models.Proposals, ...reviewing })
  const { inside, works } = createSpaceStores({
    ...others,
    protections: whileAvailable(protections, database),
    proposals: whileAvailable(proposals, database),
    models: models.inside,
    find: finding.find,
    readsAtOnce: config.PAGE_READS_AT_ONCE,
    guard: guards.ofSpaces,
    htmlMaxBytes: HTML_FACTOR_MAX * config.PAGE_MAX_BYTES
  })
  const files = createSpaceFiles(models, finding, pictures.ofSpaces)
  const { models: fileModels } = pictures.ofSpaces
  const ofSpaces = { connection, models, fileModels, publicModels, finding, audit, isInFile, later: parts.later }
  const spaces = createSpaces({ ...ofSpaces, purges, home: config.HOME_PAGE })
  const ofErasure = { models: models.inside, audit, later: parts.later, forget: inside.oldRevisions.forget }
  return {
    works,
    inside,
    erasing: { erasure: whileAvailable(createErasure(ofErasure), database) },
    finding: whileAvailable({ find: finding.find, roleIn: finding.roleIn }, database),
    spaces: whileAvailable(spaces, database),
    prepare: spaces.prepare,
    files,
    groups: whileAvailable(createGroups({ models, audit, members, users }), database),
    lists: whileAvailable(createSpaceLists(models.inside), database),
    /** @param {Space} space */
    archived: (space) => archiveOf(models.inside, files.filesOf(space), rangesOf(space._id)),
    exportSlots: createSemaphore(EXPORTS_MAX),
    /** @type {PageStore['migrations']} */
    migrations: inside.store.migrations.filter(({ number }) => number > BORN_AFTER),
    async close () {
      await inside.oldRevisions.close()
      await inside.store.close()
    }
  }
}

const EXPORTS_MAX = 2
/** The last migration before there were spaces. */
const BORN_AFTER = 7
