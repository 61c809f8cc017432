/** Of a trial's setting `edges`. */
const EDGES_MAX = 8

/**
 * @param {number} index  0…
 * @returns {string} of an edge's folder, control and log: `edge`, `edge-2`, `edge-3` …
 */
export const edgeName = (index) => index === 0 ? 'edge' : `edge-${index + 1}`

/** In the order of their numbers. */
export const EDGE_NAMES = Object.freeze(Array.from({ length: EDGES_MAX }, (_, index) => edgeName(index)))

/**
 * @param {number} index  0…
 * @returns {string} of an edge among several: `EDA`, `EDB` … at the end of its CF-Ray, and in the samples' column
 *   `pop`
 */
export const edgePlace = (index) => `ED${String.fromCharCode('A'.charCodeAt(0) + index)}`

/** @param {string} name  of an edge @returns {string} of its process: `nginx edge`, `nginx edge 2` … */
export const edgeProcess = (name) => `nginx ${name.replace('-', ' ')}`
