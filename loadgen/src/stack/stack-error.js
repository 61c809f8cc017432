/** A stack that cannot be started as asked; the message says what to do. */
export class StackError extends Error {}
