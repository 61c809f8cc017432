import { t } from '../language.js'
import { escapeLong } from '../views.js'
import { editUrl, previewUrl, viewUrl } from '../pages/name.js'
import { spaceFilesListUrl, spaceUploadUrl } from '../spaces/addresses.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Attribution} from '../pages/commit.js' */
/** @import {Change} from './change.js' */

/**
 * `section`: the number of the only section whose text is shown, in the base revision. `proposal`: id of the proposal
 * that it is.
 * @typedef {{baseRevision?: string | number, section?: string, proposal?: string, content: string, tags: string} &
 *   Attribution} Typed
 */

/**
 * What views/editor.eta shows. Without a base revision, saving over an existing page is a conflict.
 * @param {string} name  of the page @param {Typed} typed
 */
export const editor = async (
  name, { baseRevision = 0, section, proposal, content, tags, author = '', summary = '' }
) => ({
  editing: true,
  baseRevision,
  section,
  proposal,
  textHtml: await escapeLong(content),
  tags,
  author,
  summary,
  saveUrl: editUrl(name),
  previewUrl: previewUrl(name),
  spaceUploadUrl: spaceUploadUrl(name),
  spaceFilesUrl: spaceFilesListUrl(name),
  cancelUrl: viewUrl(name),
  cancel: t('Cancel')
})

/**
 * The form as it was sent, to be sent back.
 * @param {FastifyRequest} request  of a form with the fields of views/editor.eta @param {string} content
 * @returns {Typed}
 */
export function typedIn ({ body }, content) {
  const { tags = '', section, proposal, author, summary, base_revision: baseRevision } =
    /** @type {{tags?: string | string[], section?: string, proposal?: string} & Change} */ (body)
  return { baseRevision, section, proposal, content, tags: [tags].flat().join(', '), author, summary }
}
