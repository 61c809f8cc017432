import { emptyNamesWithoutPage } from '../pages/without-page.js'

/** @param {import('../pages/commit.js').WriteContext} context @returns {import('./migrate.js').Migration} */
export const noTextWithoutPage = ({ models }) => ({
  number: 7,
  name: 'no-text-without-page',
  run: () => emptyNamesWithoutPage(models)
})
