/** A machine cannot be the origin; the message says why, or what to do. */
export class OriginError extends Error {}
