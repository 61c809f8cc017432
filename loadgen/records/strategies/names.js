/** When a record is inserted, and when its sender has the answer; README.md has what each promises. */
export const STRATEGIES = /** @type {const} */ (['sync', 'group-commit', 'async', 'group', 'bulk'])
