import { insertOne } from './insert.js'

/** @type {import('./index.js').Make} Inserts each record by itself, then answers. */
export const createSync = ({ records }) => ({
  answersAfter: true,
  add: (item) => { insertOne(records, item) },
  flush () {}
})
