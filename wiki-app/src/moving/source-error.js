/** What was given is not what this kind of wiki is read from. */
export class SourceError extends Error {}
