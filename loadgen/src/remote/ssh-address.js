/**
 * Reads an address of ssh. Whatever a program then does with it, no part of it can be an option or a shell's syntax.
 * @param {string} text  ssh://[user@]host[:port][?name=value…]
 * @returns {{user: string | null, host: string, port: number | null, parameters: URLSearchParams} | null} `host`: of
 *   an IPv6 address with its brackets; null: it is none
 */
export function sshAddress (text) {
  // URL itself drops line breaks.
  if (/\s/.test(text) || !URL.canParse(text)) return null
  const { protocol, username, password, hostname, port, pathname, searchParams, hash } = new URL(text)
  const wrong = protocol !== 'ssh:' ||
    password !== '' ||
    hash !== '' ||
    !['', '/'].includes(pathname) ||
    // ssh would read a leading hyphen as an option.
    !/^(\[[0-9a-f:]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)$/.test(hostname) ||
    !/^([A-Za-z0-9_.][A-Za-z0-9_.-]*)?$/.test(username) ||
    port === '0'
  if (wrong) return null
  return { user: username || null, host: hostname, port: Number(port) || null, parameters: searchParams }
}
