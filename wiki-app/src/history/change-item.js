import { readableSize, readableTime } from '../readable.js'
import { differenceUrl, historyUrl, revisionUrl, viewUrl } from '../pages/name.js'

/** @param {import('./history.js').RevisionItem} item @returns what a list of changes shows of it */
export function changeItem ({
  _id: id, page, revision, follows, content_bytes: bytes, author, summary, deleted, created_at: createdAt,
  erased_at: erasedAt
}) {
  const at = createdAt.toISOString()
  return {
    id: String(id),
    page,
    revision,
    deleted,
    erased: erasedAt != null,
    author,
    summary,
    at,
    time: readableTime(at),
    size: readableSize(bytes),
    viewUrl: viewUrl(page),
    historyUrl: historyUrl(page),
    revisionUrl: revisionUrl(page, revision),
    differenceUrl: follows === null || erasedAt ? null : differenceUrl(page, follows, revision),
    authorUrl: changesUrl('/changes', { author })
  }
}

/** @param {string} path @param {Record<string, string | undefined>} query */
export function changesUrl (path, query) {
  const given = new URLSearchParams(
    Object.entries(query).flatMap(([key, value]) => value === undefined ? [] : [[key, value]])
  )
  return given.size > 0 ? `${path}?${given}` : path
}

/**
 * @param {import('./history.js').RevisionItem} item
 * @param {import('./history.js').BytesBefore} bytesBefore  of the revision that it follows
 */
export function whatChanged ({ deleted, summary, content_bytes: bytes, erased_at: erasedAt }, bytesBefore) {
  if (erasedAt) return `${deleted ? 'The page was deleted. ' : ''}What it said was erased by an administrator.`
  const said = summary === '' ? '' : `${summary.replace(/[.!?…]?$/u, (end) => end || '.')} `
  if (deleted) return `${said}The page was deleted.`
  if (bytesBefore === null) return `${said}A new page of ${readableSize(bytes)}.`
  if (bytesBefore === undefined) return `${said}Now ${readableSize(bytes)}.`
  const growth = bytes - bytesBefore
  if (growth === 0) return `${said}As long as before: ${readableSize(bytes)}.`
  return `${said}Now ${readableSize(bytes)}, ${readableSize(Math.abs(growth))} ${growth > 0 ? 'more' : 'less'} than before.`
}
