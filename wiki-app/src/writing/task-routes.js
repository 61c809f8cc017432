import createError from '@fastify/error'
import { t } from '../language.js'
import { wantsHtml } from '../views.js'
import { nameIn } from '../reading/address.js'
import { AUTHOR_SCHEMA, changeIn, REVISION_SCHEMA } from './change.js'
import { viewUrl, writableName } from '../pages/name.js'
import { PageMissing } from '../pages/page-errors.js'
import { basePrecondition, StaleEdit } from '../pages/preconditions.js'
import { taskAt, withTask } from './task.js'

/** @import {FastifyInstance} from 'fastify' */
/** @import {Context} from './edit-routes.js' */

const TaskMoved = createError(
  'WIKI_TASK_MOVED', 'Someone changed the page, and this box is no longer where it was. Load the page again.', 409
)

/** Then others keep changing the page. */
const ATTEMPTS_MAX = 3
const TASK_SCHEMA = {
  type: 'object',
  required: ['base_revision', 'task', 'checked'],
  additionalProperties: false,
  properties: {
    base_revision: REVISION_SCHEMA,
    // Lines of a text are at most as many as its bytes.
    task: REVISION_SCHEMA,
    checked: { enum: [true, false, 'true', 'false'] },
    author: AUTHOR_SCHEMA
  }
}
/** @typedef {{base_revision: string | number, task: string | number, checked: boolean | 'true' | 'false'}} Ticked */

/**
 * Ticks a box of a task list: one character of the text. `base_revision` is the text that was shown, however old; the
 * box counts as the same one while its line is.
 * @param {FastifyInstance} app @param {Context} context
 */
export function addTasks (app, { store, history, leave }) {
  app.post('/edit/task/*', { schema: { body: TASK_SCHEMA } }, async (request, reply) => {
    const name = writableName(nameIn(request))
    const { base_revision: base, task, checked } = /** @type {Ticked} */ (request.body)
    const revision = await tick(name, changeIn(request), {
      baseRevision: Number(base), number: Number(task), checked: String(checked) === 'true'
    })
    reply.header('page-revision', revision)
    if (wantsHtml(request)) return leave(reply, `${viewUrl(name)}?saved=${revision}`, name)
    return { name, revision }
  })

  /**
   * @param {string} name @param {import('../pages/commit.js').Attribution} by
   * @param {{baseRevision: number, number: number, checked: boolean}} box
   * @returns {Promise<number>} revision in which the box is so
   * @throws {Error} 404 for no page, 409 for another box
   */
  async function tick (name, by, { baseRevision, number, checked }) {
    for (let attempt = 1; ; attempt++) {
      const page = await store.findSource(name)
      if (page === null) throw new PageMissing(name)
      const { revision, content } = page
      const task = taskAt(content, number)
      const shown = revision === baseRevision ? task : await taskOf(name, baseRevision, number)
      if (task === null || task.label !== shown?.label) throw new TaskMoved()
      if (task.checked === checked) return revision
      try {
        const saved = await store.save(
          name,
          { content: withTask(content, task, checked) },
          { ...by, summary: checked ? t('Ticked a box') : t('Unticked a box') },
          basePrecondition(revision)
        )
        return saved.revision
      } catch (error) {
        if (!(error instanceof StaleEdit) || attempt === ATTEMPTS_MAX) throw error
      }
    }
  }

  /** @param {string} name @param {number} revision @param {number} number */
  async function taskOf (name, revision, number) {
    const old = await history.findBase(name, revision)
    return old === null ? null : taskAt(old.content, number)
  }
}
