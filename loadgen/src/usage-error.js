/** A command line is not understood; the message says what is wrong with it. */
export class UsageError extends Error {}
