/** The list, and its form. */
export const PROTECTION_URL = '/edit/protection'

/** The form, filled in. @param {string} name  of a page */
export const protectionUrl = (name) => `${PROTECTION_URL}?${new URLSearchParams({ name })}`
