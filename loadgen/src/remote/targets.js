import { UsageError } from '../usage-error.js'
import { sshAddress } from './ssh-address.js'

/** As many as the setting `generators` allows. */
const TARGETS_MAX = 8

/**
 * They come before the user's configuration, so nothing in it can weaken them. No question is asked, no unknown host
 * trusted, and nothing of this machine is lent.
 */
const OPTIONS = [
  'BatchMode=yes', 'StrictHostKeyChecking=yes', 'ConnectTimeout=15', 'LogLevel=ERROR', 'ServerAliveInterval=10',
  'ServerAliveCountMax=3', 'RequestTTY=no', 'ForwardAgent=no', 'ForwardX11=no', 'GSSAPIDelegateCredentials=no',
  'ClearAllForwardings=yes', 'RemoteCommand=none', 'PermitLocalCommand=no', 'ControlPersist=no'
]

/** A machine with a generator. null: as the user's configuration of ssh says. */
/** @typedef {{user: string | null, host: string, port: number | null}} Target */

/**
 * @param {string} text  of --generators: ssh://[user@]host[:port], one or several, with commas between them
 * @returns {Target[]} a machine may be there more than once
 * @throws {UsageError}
 */
export function parseTargets (text) {
  const targets = text.split(',').map((each) => {
    const address = sshAddress(each.trim())
    if (address === null || [...address.parameters].length > 0) {
      throw new UsageError(`--generators: "${each.trim()}" is not ssh://[user@]host[:port]`)
    }
    const { user, host, port } = address
    return { user, host: host.replace(/^\[|\]$/g, ''), port }
  })
  if (targets.length > TARGETS_MAX) {
    throw new UsageError(`--generators names ${targets.length} machines; at most ${TARGETS_MAX} share a plan`)
  }
  return targets
}

/**
 * @param {Target} target
 * @param {string | undefined} configFile  instead of the user's own; see ssh_config(5)
 * @returns {{options: string[], destination: string[]}} arguments of ssh
 */
export const sshArguments = ({ user, host, port }, configFile) => ({
  options: [
    ...configFile === undefined ? [] : ['-F', configFile],
    ...OPTIONS.flatMap((option) => ['-o', option])
  ],
  destination: [
    ...user === null ? [] : ['-l', user], ...port === null ? [] : ['-p', String(port)], '--', host
  ]
})
