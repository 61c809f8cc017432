// Apart from section-work.js, which imports the renderer.

/** The last section; others count from 1. */
export const LAST = 0
