import mongoose from 'mongoose'

/** In order of bytes a zero follows a slash. @param {string} name */
const endOf = (name) => `${name}0`

/**
 * The pages below a page: a range of the index `below`.
 * @param {string} name @param {{$gt: string} | {$gte: string}} [start]  within the range
 */
export const belowOf = (name, start = { $gt: `${name}/` }) =>
  ({ deleted_at: null, _id: mongoose.trusted({ ...start, $lt: endOf(name) }) })

/** The start of a range after a name and all that is below it. @param {string} name */
export const afterAllBelow = (name) => ({ $gte: endOf(name) })

/** The list of all pages below a page. @param {string} name */
export const subpagesUrl = (name) => `/pages?${new URLSearchParams({ under: name })}`
