/** The list, and its form. */
export const PROTECTION_URL = '/edit/protection'

/** In the query of what is of a private space. */
export const SPACE = { type: 'string', maxLength: 200 }

/** @param {string | undefined} space @param {Record<string, string>} [others] @returns {string} '' for nothing */
export function spaceQuery (space, others = {}) {
  const query = new URLSearchParams({ ...space !== undefined && { space }, ...others })
  return query.size === 0 ? '' : `?${query}`
}

/** The form, filled in. @param {string} name  of a page @param {string} [space] */
export const protectionUrl = (name, space) => PROTECTION_URL + spaceQuery(space, { name })

/** @param {string} [space] */
export const protectionListUrl = (space) => PROTECTION_URL + spaceQuery(space)
