/**
 * @param {number} number
 * @param {string} noun  with the plural `…s`
 * @returns {string} such as `1 trial`, `2 trials`
 */
export const countOf = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`
