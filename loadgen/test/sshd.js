import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { startProcess, stopProcess, waitUntil } from '@stevec/harness/processes'
import { locateTool, remedyFor, requireTool } from '@stevec/harness/tools/locate'

/** sshd of root wants /run/sshd, which the service of a distribution makes: this one has a /run of its own. */
const WITH_OWN_RUN = ['unshare', '--mount', 'sh', '-c',
  'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"', 'sh']
const needsOwnRun = () => userInfo().uid === 0 && !existsSync('/run/sshd')

/** @returns {string | false} why tests that need sshd are skipped */
export function sshdMissing () {
  if (locateTool('sshd') === null) return `sshd is missing; ${remedyFor('sshd')}`
  if (!needsOwnRun()) return false
  const [command, ...args] = [...WITH_OWN_RUN, 'true']
  return spawnSync(command, args).status === 0 ? false : 'sshd needs a folder /run/sshd, and root may not mount here'
}

/**
 * Starts an sshd on loopback that stands for another machine.
 * @param {string} directory  made for it
 * @param {object} [options]
 * @param {Record<string, string>} [options.programs]  scripts for sh that stand for programs there
 * @param {string} [options.settings]  lines of sshd_config(5)
 */
export async function startSshd (directory, { programs = {}, settings = '' } = {}) {
  const [there, bin] = ['there', 'bin'].map((name) => path.join(directory, name))
  for (const each of [directory, there, bin]) mkdirSync(each, { mode: 0o700 })
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(path.join(bin, name), 0o700)
  }
  const file = (/** @type {string} */ name) => path.join(directory, name)
  for (const name of ['host-key', 'key']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file(name)])
  }
  const [port] = await freePorts(1)
  writeFileSync(file('authorized_keys'), readFileSync(file('key.pub')), { mode: 0o600 })
  writeFileSync(file('known_hosts'), `[127.0.0.1]:${port} ${readFileSync(file('host-key.pub'), 'utf8')}`)
  writeFileSync(file('sshd_config'), `
ListenAddress 127.0.0.1:${port}
HostKey ${file('host-key')}
AuthorizedKeysFile ${file('authorized_keys')}
StrictModes no
UsePAM no
PasswordAuthentication no
PidFile none
SetEnv TMPDIR=${there} PATH=${bin}:/usr/local/bin:/usr/bin:/bin
${settings}
`)
  writeFileSync(file('ssh_config'), `
IdentityFile ${file('key')}
IdentitiesOnly yes
UserKnownHostsFile ${file('known_hosts')}
GlobalKnownHostsFile none
`)
  const sshd = [requireTool('sshd').path, '-D', '-e', '-f', file('sshd_config')]
  const [command, ...args] = needsOwnRun() ? [...WITH_OWN_RUN, ...sshd] : sshd
  const running = await startProcess({ name: 'sshd', command, args, logFile: file('sshd.log') })
  if (!await waitUntil(() => answers(port), 30_000)) throw new Error(readFileSync(file('sshd.log'), 'utf8'))
  return {
    there,
    config: file('ssh_config'),
    knownHosts: file('known_hosts'),
    url: `ssh://${userInfo().username}@127.0.0.1:${port}`,
    /** @returns {number} the process that has the connection, on this side */
    connection: () => processes().find(({ args }) => args.includes('-M') && args.includes(String(port)))?.pid ?? 0,
    /** @returns {number[]} processes there, and whatever works in its folder for temporary files */
    left: () => processes().filter(({ cwd, tmp }) => cwd.startsWith(there) || tmp === there).map(({ pid }) => pid),
    stop: () => stopProcess(running)
  }
}

/**
 * @param {string} file  to be written, with the keys of all
 * @param {Pick<Awaited<ReturnType<typeof startSshd>>, 'url' | 'config'>[]} machines
 * @returns {string} the file
 */
export function configOf (file, machines) {
  writeFileSync(file, machines.map(({ url, config }) =>
    `Match exec "test %p = ${new URL(url).port}"\n${readFileSync(config, 'utf8')}`).join('\n'))
  return file
}

/** Of this machine, as far as they can be read. */
const processes = () => readdirSync('/proc').filter((entry) => /^\d+$/.test(entry)).flatMap((entry) => {
  try {
    const read = (/** @type {string} */ name) => readFileSync(`/proc/${entry}/${name}`, 'utf8').split('\0')
    const tmp = read('environ').find((text) => text.startsWith('TMPDIR='))?.slice('TMPDIR='.length)
    return [{ pid: Number(entry), args: read('cmdline'), cwd: readlinkSync(`/proc/${entry}/cwd`), tmp }]
  } catch {
    return []
  }
})

/** @param {number} port @returns {Promise<boolean>} */
const answers = (port) => new Promise((resolve) => {
  const socket = connect(port, '127.0.0.1')
  const tell = (/** @type {boolean} */ yes) => {
    socket.destroy()
    resolve(yes)
  }
  socket.once('connect', () => tell(true)).once('error', () => tell(false))
})
