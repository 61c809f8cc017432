/** RFC 9110 §10.2.3 @template {Error} T @param {T} error @param {number} [seconds] */
export const retryAfter = (error, seconds = 2) => Object.assign(error, { headers: { 'retry-after': String(seconds) } })
