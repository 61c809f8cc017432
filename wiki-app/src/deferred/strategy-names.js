/** Saves wait in the memory of the process. */
export const IN_MEMORY_STRATEGIES = /** @type {const} */ (['unsafe-async', 'unsafe-group', 'unsafe-bulk'])

/** Saves wait in Redis. */
export const WRITE_BEHIND = 'unsafe-write-behind'

export const DEFERRED_STRATEGIES = /** @type {const} */ ([...IN_MEMORY_STRATEGIES, WRITE_BEHIND])
