import { linkTargets } from './0001-link-targets.js'
import { searchKeys } from './0002-search-keys.js'
import { subpageLists } from './0003-subpages.js'
import { wordsOutside } from './0004-words-outside.js'
import { chunkIndex } from './0005-chunk-index.js'
import { purgesInQueue } from './0006-purges-in-queue.js'
import { noTextWithoutPage } from './0007-no-text-without-page.js'

/**
 * A new one gets the next number, a fixture of the version before it and a test (test/upgrade.test.js). An applied one
 * never changes.
 * @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration[]}
 */
export const migrationsOf = (context) => [
  linkTargets(context), searchKeys(context), subpageLists(context), wordsOutside(context), chunkIndex(context),
  purgesInQueue(context), noTextWithoutPage(context)
]
