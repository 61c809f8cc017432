/** A stack cannot start as requested; the message says what to do. */
export class StackError extends Error {}
