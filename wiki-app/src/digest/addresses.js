export const DIGEST_URL = '/edit/watching/digest'
export const DIGEST_END_URL = `${DIGEST_URL}/end`
/** Their secrets are in no log (observe/request-log.js, nginx/conf). */
export const CONFIRM_ROUTE = '/digests/confirm/:secret'
export const STOP_ROUTE = '/digests/stop/:secret'

/** @param {string} secret */
export const confirmUrl = (secret) => CONFIRM_ROUTE.replace(':secret', secret)

/** @param {string} secret */
export const stopUrl = (secret) => STOP_ROUTE.replace(':secret', secret)
