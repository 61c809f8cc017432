/**
 * What happens in a simulation. `where`: what fails; `ms`: how long it lasts at most, 0: it is over at once.
 * @typedef {{kind: 'read', reader: number, edge: number, page: string, revision: number, status: string,
 *   sent_ms: number}} ReadEvent
 * @typedef {{kind: 'save', wiki: number, page: string, revision: number}} SaveEvent
 * @typedef {{kind: 'purge', edge: number, what: string[]}} PurgeEvent  what: URLs, tags, or `everything`
 * @typedef {{kind: 'fault', name: string, where: string, ms: number}} FaultEvent
 * @typedef {ReadEvent | SaveEvent | PurgeEvent | FaultEvent} Happening
 * @typedef {Happening & {at_ms: number}} Event  at_ms: of the answer, of the acknowledgement, of the fault
 * @typedef {(event: Happening) => void} Say
 */

/** @param {Event} event @returns {string} a line */
export function lineOf (event) {
  const at = event.at_ms.toFixed(3).padStart(12)
  if (event.kind === 'save') return `${at} wiki ${event.wiki} saved ${event.page} revision ${event.revision}`
  if (event.kind === 'purge') return `${at} purge at edge ${event.edge}: ${event.what.join(' ')}`
  if (event.kind === 'fault') {
    const lasts = event.ms > 0 ? `, ${event.ms.toFixed(0)} ms` : ''
    return `${at} fault: ${event.name}, ${event.where}${lasts}`
  }
  const { reader, edge, page, revision, status, sent_ms: sentMs } = event
  return `${at} reader ${reader}, edge ${edge}: ${page} revision ${revision}, ${status}, sent ${sentMs.toFixed(3)}`
}
