import { insertOne } from './insert.js'

/** @type {import('./index.js').Make} Answers, then inserts each record by itself. */
export const createAsync = ({ records }) => ({
  answersAfter: false,
  add: (item) => { insertOne(records, item) },
  flush () {}
})
