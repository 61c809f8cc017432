const USAGE = 2

/** Exit codes of `stevec` (docs/operations.md). */
export const EXIT = Object.freeze({ good: 0, violated: 1, usage: USAGE, broken: 3, interrupted: 130 })

/** For the list of commands, within 100 columns. */
export const EXIT_HELP = `Exit codes:
  0    good
  1    invalid or violated: a trial, a check, a limit; a door that does not answer
  2    wrong usage: of the command line, a variable, a name, a port, a definition or a profile
  3    broken: a part does not start, a tool is missing, another measurement is under way, a crash
  130  interrupted`

/**
 * Errors that do not mean "broken", by class. As names: most of their modules need packages that set-up has yet to
 * install.
 * @type {Record<string, number>}
 */
const CODES = {
  UsageError: USAGE,
  ConfigError: USAGE,
  DefinitionError: USAGE,
  ProfileError: USAGE,
  ResultsError: USAGE,
  SampleError: USAGE,
  BudgetError: USAGE,
  TokenError: USAGE,
  WrongDatabaseError: USAGE,
  RepositoryError: USAGE,
  SourceError: USAGE,
  WorktreeError: USAGE,
  CalibrationError: EXIT.violated,
  PlanError: EXIT.violated,
  BackupError: EXIT.violated,
  AbortError: EXIT.interrupted
}

/**
 * @param {unknown} error
 * @returns {number}
 */
export function exitCodeOf (error) {
  // The error of an aborted signal is a DOMException: only its name says AbortError.
  const { name = '', constructor } = /** @type {Error} */ (error ?? {})
  return CODES[name] ?? CODES[constructor?.name ?? ''] ?? EXIT.broken
}
