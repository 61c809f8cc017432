const NAMED = /** @type {Record<string, string>} */ ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' })
const ENTITY = /&(?:(amp|lt|gt|quot|apos|nbsp)|#(\d{1,7})|#x([\da-f]{1,6}));/gi
const LAST_CODE_POINT = 0x10FFFF

/** @param {string} text @returns {string} with the entities that occur in names decoded, once */
export const decodedEntities = (text) => text.replace(ENTITY, (whole, name, decimal, hexadecimal) => {
  if (name !== undefined) return NAMED[name.toLowerCase()]
  const code = decimal === undefined ? Number.parseInt(hexadecimal, 16) : Number(decimal)
  return code > 0 && code <= LAST_CODE_POINT ? String.fromCodePoint(code) : whole
})
