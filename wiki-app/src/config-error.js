/** A setting that is not allowed; the message is one line for the person who set it. */
export class ConfigError extends Error {}
