/** Times of rounds count as falling while they set a record that is lower by this share … */
const FALL = 0.05
/** … at least once in so many rounds. */
const PATIENCE_ROUNDS = 4

/**
 * Whether a series of mean times no longer falls: the last four rounds set no record that is more than 5 % below the
 * last one. Only the best rounds count, because other work on the machine adds time and never takes any away. Falls of
 * less than 5 % in four rounds are not seen. docs/decisions/0026 says why this is not the coefficient of variation of
 * Georges et al. (OOPSLA 2007).
 * @param {number[]} means  of the rounds so far, in any unit
 */
export function isSteady (means) {
  let record = Infinity
  let roundsSince = 0
  for (const mean of means) {
    const isRecord = mean < record * (1 - FALL)
    roundsSince = isRecord ? 0 : roundsSince + 1
    if (isRecord) record = mean
  }
  return roundsSince >= PATIENCE_ROUNDS
}
