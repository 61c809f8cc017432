import { isDeepStrictEqual } from 'node:util'
import { SCHEMA_VERSION } from './manifest.js'
import { ResultsError } from './results.js'

/**
 * Trials of one run are compared with each other, so all of them must have been done alike.
 * @param {string} directory  for the message
 * @param {Record<string, any>} manifest  of the run or study that is to be gone on with
 * @param {Record<string, unknown>} asked  by name of a field of the manifest; undefined: as it was
 * @throws {ResultsError} naming each difference
 */
export function refuseOtherwise (directory, manifest, asked) {
  if (manifest.schema_version !== SCHEMA_VERSION) throw new ResultsError(`${directory} has results of version ${manifest.schema_version}, this writes version ${SCHEMA_VERSION}: it cannot be gone on with`)
  const differences = Object.entries(asked).flatMap(([name, value]) => {
    const before = manifest[name]
    if (value === undefined || isDeepStrictEqual(JSON.parse(JSON.stringify(value)), before)) return []
    if (name !== 'experiment') return [`${name} was ${short(before)} and is now ${short(value)}`]
    return Object.entries(/** @type {Record<string, unknown>} */ (value)).flatMap(([key, now]) =>
      isDeepStrictEqual(JSON.parse(JSON.stringify(now ?? null)), before?.[key] ?? null) ? [] : [`the experiment's ${key} was ${short(before?.[key])} and is now ${short(now)}`])
  })
  if (differences.length > 0) throw new ResultsError(`${directory} cannot be gone on with: ${differences.join('; ')}. Start a new run, or resume without what is different`)
}

/** @param {unknown} value */
function short (value) {
  const text = JSON.stringify(value) ?? 'not there'
  return text.length > 200 ? `${text.slice(0, 200)}…` : text
}
