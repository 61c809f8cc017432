import { createWait } from '../database/transaction.js'
import { withMissing } from '../markdown/missing.js'
import { withoutTitle } from '../markdown/title.js'
import { currentRevision } from './head.js'
import { PageMissing } from './page-errors.js'

/** @import {Attribution, CommitPage, Edit, Precondition, WriteContext} from './commit.js' */

/** @param {Pick<WriteContext, 'renderer'>} context */
export const createPrepare = ({ renderer }) =>
  /**
   * All costly work for showing a page is done here.
   * @param {{content: string, tags?: string[]}} text  Markdown; without `tags` the page keeps its tags
   * @returns {Promise<Pick<Edit, 'change'> & {rendered: NonNullable<Edit['rendered']>}>} for an edit
   * @throws {Error} 413 too large, 422 when rendering takes too long
   */
  async function prepare ({ content, tags }) {
    const { contentBytes, ...rendered } = await renderer.render(content)
    return { change: { content, contentBytes, tags }, rendered }
  }

/** @typedef {ReturnType<typeof createPrepare>} Prepare */

/** @param {WriteContext} context @param {Prepare} prepare @param {CommitPage} commit */
export const createSave = ({ models: { Pages } }, prepare, commit) =>
  /**
   * @param {string} name
   * @param {{content: string, tags?: string[]}} text  as for `prepare`
   * @param {Attribution} [attribution] @param {Precondition} [precondition]
   * @param {Pick<Edit, 'source' | 'along'>} [options]
   * @throws {Error} as `prepare`; what `precondition` throws
   */
  async function save (name, text, attribution = {}, precondition = () => {}, { source, along } = {}) {
    const wait = createWait(Pages.db)
    const prepared = await prepare(text)
    const { revision, before } = await commit({ ...prepared, name, attribution, precondition, source, along }, wait)
    return { revision, contentBytes: prepared.change.contentBytes, created: currentRevision(before) === 0 }
  }

/** @param {CommitPage} commit */
export const createRemove = (commit) =>
  /**
   * Its revisions stay, and can be restored.
   * @param {string} name @param {Attribution} [attribution] @param {Precondition} [precondition]
   * @returns {Promise<number>} revision of the deletion
   * @throws {Error} 404 when there is no such page; what `precondition` throws
   */
  async function remove (name, attribution = {}, precondition = () => {}) {
    const { revision } = await commit({
      name,
      change: { content: '', contentBytes: 0 },
      attribution,
      rendered: null,
      precondition: (head, source) => {
        if (currentRevision(head) === 0) throw new PageMissing(name)
        precondition(head, source)
      }
    })
    return revision
  }

/** @param {WriteContext} context */
export const createPreview = ({ targets, renderer }) =>
  /**
   * @param {string} content  Markdown
   * @param {string} [name]  its page: links to it are not missing, as saving creates it, and its title is not repeated
   * @returns {Promise<{content_bytes: number, html: Buffer}>}
   * @throws {Error} as `save`
   */
  async function preview (content, name) {
    const { contentBytes, html, links } = await renderer.render(content, { yields: true })
    const missing = await targets.missing(links.filter((link) => link !== name), undefined, name)
    const marked = withMissing(html, missing)
    return { content_bytes: contentBytes, html: name === undefined ? marked : withoutTitle(marked, name) }
  }
