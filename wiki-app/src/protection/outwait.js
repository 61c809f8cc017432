import { randomUUID } from 'node:crypto'
import { driverOf } from '../database/driver.js'
import { belowOf, rangeBelow } from '../pages/subpage-names.js'

/** @import {Models} from '../pages/model.js' */

/** @param {Pick<Models, 'Pages' | 'Targets'>} models */
export function createOutwait (models) {
  const [pages, targets] = [driverOf(models.Pages), driverOf(models.Targets)]

  /**
   * A transaction that began before a rule about the name does not see it. It changes one of the documents that are
   * marked here: its page, or what is known of the name that it creates or of the names above that one
   * (pages/subpages.js). So it is over once they are marked, or has to begin again.
   * @param {string} name @param {boolean} subpages
   */
  return async function outwait (name, subpages) {
    const [mark, below] = [randomUUID(), rangeBelow(name)]
    const covered = (/** @type {object} */ range) => subpages ? { $or: [{ _id: name }, { _id: range }] } : { _id: name }
    await pages.updateMany(covered(below), { $set: { protection: mark } })
    if (subpages) await targets.updateMany({ _id: below, is: 'page' }, { $set: { below: mark } })
    await targets.updateOne(
      { _id: name }, { $set: { below: mark }, $setOnInsert: { is: null, sources: 0 } }, { upsert: true })
    const isUsed = await models.Pages.findOne(belowOf(name), { _id: 1 }).lean().exec() !== null
    if (!isUsed) await targets.deleteOne({ _id: name, is: null, sources: 0 })
  }
}
