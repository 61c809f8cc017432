/** The machine that is to be the origin cannot be; the message says why, or what to do. */
export class OriginError extends Error {}
