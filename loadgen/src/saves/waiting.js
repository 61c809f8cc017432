import { setTimeout as delay } from 'node:timers/promises'
import { request } from '@stevec/harness/request'

const SETTLED_WITHIN_MS = 120_000
/** An answer takes a wiki less than a millisecond; the time of the last save is the wiki's own. */
const LOOK_EVERY_MS = 50

/**
 * Saves that wikis have answered and not stored yet, and when the last one was stored or failed; null: none was, or
 * saves are stored before the answer.
 * @typedef {{waiting: number, settledAtUs: number | null}} Saving
 */

/**
 * @param {string[]} wikiUrls
 * @returns {Promise<Saving>} of all
 * @throws {Error} when a wiki does not answer, or has several processes
 */
export async function readSaving (wikiUrls) {
  const each = await Promise.all(wikiUrls.map(readOne))
  const times = each.flatMap(({ settledAtUs }) => settledAtUs ?? [])
  return {
    waiting: each.reduce((sum, { waiting }) => sum + waiting, 0),
    settledAtUs: times.length === 0 ? null : Math.max(...times)
  }
}

/** @param {string} wikiUrl @returns {Promise<Saving>} */
async function readOne (wikiUrl) {
  const { status, body } = await request(`${wikiUrl}/status.json`)
  if (status !== 200) throw new Error(`the status of the wiki answered ${status}: ${body}`)
  const { services } = JSON.parse(body)
  const [wiki, saving] = ['wiki', 'saving'].map((part) => services.find((/** @type {any} */ { name }) => name === part))
  if (wiki.processes.length > 1) {
    throw new Error('each process of a wiki knows its own saves only: unset WORKERS, and use the setting wikis')
  }
  const settledAt = saving?.last_settled_at ?? null
  return {
    waiting: saving?.waiting.records ?? 0,
    settledAtUs: settledAt === null ? null : 1000 * Date.parse(settledAt)
  }
}

/**
 * Waits until all saves that were answered are stored, or have failed.
 * @param {() => Promise<Saving>} read
 * @param {AbortSignal} signal
 * @param {number} [withinMs]
 * @returns {Promise<Saving>} at the end; some still wait if they were not stored within two minutes
 */
export async function waitUntilSettled (read, signal, withinMs = SETTLED_WITHIN_MS) {
  const endMs = performance.now() + withinMs
  for (;;) {
    const saving = await read()
    if (saving.waiting === 0 || performance.now() > endMs) return saving
    await delay(LOOK_EVERY_MS, undefined, { signal })
  }
}
