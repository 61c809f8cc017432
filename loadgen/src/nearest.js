const SUGGESTIONS_MAX = 3
/** A shorter beginning would fit too many names. */
const PREFIX_LEAST_CHARS = 3

/**
 * Returns a question about a name that does not exist.
 * @param {string} word  as typed
 * @param {string[]} names  that exist
 * @param {string} [before]  what stands before each name, such as `--`
 * @returns {string} such as `; did you mean "run"?`; '' if no name is near
 */
export function didYouMean (word, names, before = '') {
  const found = nearest(word, names).map((name) => `"${before}${name}"`)
  if (found.length === 0) return ''
  return `; did you mean ${found.length === 1 ? found[0] : `${found.slice(0, -1).join(', ')} or ${found.at(-1)}`}?`
}

/**
 * @param {string} word
 * @param {string[]} names
 * @returns {string[]} the names that `word` may have meant, those with the fewest typing errors: at most one error for
 *   three letters, or a beginning of the name
 */
function nearest (word, names) {
  const typed = word.toLowerCase()
  const distances = names.map((name) => typed.length >= PREFIX_LEAST_CHARS && name.startsWith(typed)
    ? 0
    : typingErrors(typed, name.toLowerCase()))
  const least = Math.min(...distances)
  if (least > Math.max(1, Math.floor(typed.length / 3))) return []
  return names.filter((_, index) => distances[index] === least).slice(0, SUGGESTIONS_MAX)
}

/**
 * Returns the optimal string alignment distance: letters that are missing, added, replaced, or swapped with the next.
 * https://en.wikipedia.org/wiki/Damerau%E2%80%93Levenshtein_distance#Optimal_string_alignment_distance
 * @param {string} one
 * @param {string} other
 */
function typingErrors (one, other) {
  /** The distances of the first `row` letters of `one` from each beginning of `other`. @type {number[][]} */
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row++) {
    rows[row] = [row]
    for (let column = 1; column <= other.length; column++) {
      const replaced = rows[row - 1][column - 1] + (one[row - 1] === other[column - 1] ? 0 : 1)
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      const swapped = isSwap ? rows[row - 2][column - 2] + 1 : Infinity
      rows[row][column] = Math.min(replaced, swapped, rows[row - 1][column] + 1, rows[row][column - 1] + 1)
    }
  }
  return rows[one.length][other.length]
}
