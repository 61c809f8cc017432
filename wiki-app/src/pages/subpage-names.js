import mongoose from 'mongoose'

/** In order of bytes a zero follows a slash. @param {string} name */
const endOf = (name) => `${name}0`

/** The names below a name. @param {string} name @param {{$gt: string} | {$gte: string}} [start]  within the range */
export const rangeBelow = (name, start = { $gt: `${name}/` }) => ({ ...start, $lt: endOf(name) })

/**
 * The pages below a page: a range of the index `below`.
 * @param {string} name @param {{$gt: string} | {$gte: string}} [start]  within the range
 */
export const belowOf = (name, start) => ({ deleted_at: null, _id: mongoose.trusted(rangeBelow(name, start)) })

/** The start of a range after a name and all that is below it. @param {string} name */
export const afterAllBelow = (name) => ({ $gte: endOf(name) })

/** The list of all pages below a page. @param {string} name */
export const subpagesUrl = (name) => `/pages?${new URLSearchParams({ under: name })}`
