import { encodeName } from '../pages/name.js'

export const WATCHING_URL = '/edit/watching'
export const WATCH_AUTHOR_URL = '/edit/watch-author'
export const FEED_ROUTE = '/feeds/:secret'

/** @param {string} name  of a page */
export const watchUrl = (name) => `/edit/watch/${encodeName(name)}`

/** @param {string} author */
export const watchAuthorUrl = (author) => `${WATCH_AUTHOR_URL}?${new URLSearchParams({ author })}`

/** @param {string} secret */
export const feedUrl = (secret) => FEED_ROUTE.replace(':secret', secret)
