import { t } from '../language.js'
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
  if (erasedAt) {
    return deleted
      ? t('The page was deleted. What it said was erased by an administrator.')
      : t('What it said was erased by an administrator.')
  }
  const said = summary === '' ? '' : `${summary.replace(/[.!?…]?$/u, (end) => end || '.')} `
  const size = readableSize(bytes)
  if (deleted) return said + t('The page was deleted.')
  if (bytesBefore === null) return said + t('A new page of {{size}}.', { size })
  if (bytesBefore === undefined) return said + t('Now {{size}}.', { size })
  const growth = bytes - bytesBefore
  if (growth === 0) return said + t('As long as before: {{size}}.', { size })
  const by = readableSize(Math.abs(growth))
  return said + (growth > 0
    ? t('Now {{size}}, {{by}} more than before.', { size, by })
    : t('Now {{size}}, {{by}} less than before.', { size, by }))
}
