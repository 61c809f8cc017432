import { personIn, spaceIn } from '../access/access.js'
import { suffices } from '../access/roles.js'
import { viewUrl } from '../pages/name.js'
import { talkOf } from '../pages/talk.js'
import { proposalsUrl } from '../proposals/addresses.js'
import { protectionUrl } from './addresses.js'

/** @import {FastifyRequest} from 'fastify' */
/** @import {Protections} from './protections.js' */

/**
 * What views/protected.eta shows above forms that change a page. No view of a page has it: that is the same for all
 * readers, and one read of the database.
 * @param {Pick<Protections, 'find'> | null} protections  null: the wiki knows nobody by name
 */
export const createNotice = (protections) =>
  /** @param {FastifyRequest} request @param {string} name */
  async function noticeOf (request, name) {
    if (protections === null) return {}
    const role = personIn(request)?.role ?? 'editor'
    const rule = await protections.find(name)
    const talk = talkOf(name)
    const space = spaceIn(request)?._id
    return {
      protectUrl: role === 'admin' ? protectionUrl(name, space) : undefined,
      protection: rule && rule.role === 'admin'
        ? {
            reason: rule.reason,
            isMine: suffices(role, rule.role),
            proposalsUrl: rule.review ? proposalsUrl(space) : null,
            talkUrl: talk && viewUrl(talk)
          }
        : undefined
    }
  }

/** @typedef {ReturnType<typeof createNotice>} NoticeOf */
