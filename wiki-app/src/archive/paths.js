export const PATH_MAX_CHARS = 4_096

/** @param {string} path  in an archive, which may be hostile @returns {string | null} why it is refused */
export function pathRefusal (path) {
  if (path.length > PATH_MAX_CHARS) return `Its name is longer than ${PATH_MAX_CHARS} characters.`
  const steps = path.replace(/\/$/, '').split('/')
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) return 'Its name is an absolute path.'
  if (path.includes('\\')) return 'Its name has a backslash.'
  if (steps.some((step) => step === '' || step === '.' || step === '..')) return 'Its name leads somewhere else.'
  if (/\p{Cc}/u.test(path)) return 'Its name has characters that cannot be shown.'
  // `.git`, `.obsidian`, `._name` of macOS: an export writes a leading dot as %2E.
  const isHidden = !path.endsWith('/') && steps.some((step) => step.startsWith('.'))
  if (isHidden) return 'It is hidden: a part of its name begins with a dot.'
  return null
}
