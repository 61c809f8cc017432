/**
 * What happens in a simulation. `where`: what fails; `ms`: how long it lasts at most, 0: it is over at once.
 * @typedef {{kind: 'read', reader: number, edge: number, page: string, revision: number, status: string,
 *   sent_ms: number}} ReadEvent
 * @typedef {{kind: 'save', page: string, revision: number}} SaveEvent
 * @typedef {{kind: 'fault', name: string, where: string, ms: number}} FaultEvent
 * @typedef {ReadEvent | SaveEvent | FaultEvent} Happening
 * @typedef {Happening & {at_ms: number}} Event  at_ms: of the answer, of the acknowledgement, of the fault
 * @typedef {(event: Happening) => void} Say
 */

/** @param {Event} event @returns {string} a line */
export function lineOf (event) {
  const at = event.at_ms.toFixed(3).padStart(12)
  if (event.kind === 'save') return `${at} saved ${event.page} revision ${event.revision}`
  if (event.kind === 'fault') {
    const lasts = event.ms > 0 ? `, ${event.ms.toFixed(0)} ms` : ''
    return `${at} fault: ${event.name}, ${event.where}${lasts}`
  }
  return `${at} reader ${event.reader}, edge ${event.edge}: ${event.page} revision ${event.revision}, ${event.status}, ` +
    `sent ${event.sent_ms.toFixed(3)}`
}
