import { DEFERRED_STRATEGIES } from './deferred/strategy-names.js'
import { WRITE_STRATEGIES } from './pages/commit.js'
import { choice, integer, listed } from './setting-readers.js'

/** How edits reach the database (docs/saving.md). */
export const SAVING_SETTINGS = {
  WRITE_STRATEGY: choice([...WRITE_STRATEGIES, ...DEFERRED_STRATEGIES], {
    default: 'sync',
    does: 'how edits are committed: `sync`, each by itself, or `group-commit`, those that wait at the same time ' +
      `together. ${listed(DEFERRED_STRATEGIES)} answer programs before they store, and may lose what they answered, ` +
      'see [saving](../docs/saving.md)'
  }),
  // One that is larger takes longer to commit than its edits would wait.
  GROUP_COMMIT_MAX: integer(1, 1000, {
    default: 100,
    allowed: 'a whole number of edits from 1 to 1000',
    does: 'for `group-commit`: the most edits that are committed together'
  }),
  GROUP_COMMIT_WAIT_MS: integer(0, 10_000, {
    default: 0,
    allowed: 'a whole number of milliseconds from 0 to 10000',
    does: 'for `group-commit`: how long the first edit waits for others; 0: no longer than the commit before it takes'
  }),
  UNSAFE_RECORDS_MAX: integer(1, 100_000, {
    default: 2_000,
    allowed: 'a whole number of saves from 1 to 100000',
    does: 'for the `unsafe-…` strategies: the most saves that wait to be stored, in each process; of ' +
      '`unsafe-write-behind` in Redis, for all processes together'
  }),
  UNSAFE_MIB_MAX: integer(1, 1_024, {
    default: 32,
    allowed: 'a whole number of MiB from 1 to 1024',
    does: 'for them: the most memory that these take'
  })
}
