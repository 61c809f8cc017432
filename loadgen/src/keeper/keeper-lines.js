import { logOf } from '../stack/state.js'

/**
 * @param {object} stack
 * @param {string} stack.directory
 * @param {string[]} stack.dead  names of processes that should run but do not
 * @param {boolean} stack.keeper  whether a process starts these again
 * @param {import('./status-file.js').ServiceStatus[]} stack.services
 * @returns {string[]} what died, and what becomes of it
 */
export function keeperLines ({ directory, dead, keeper, services }) {
  const restarted = services.filter(({ restarts }) => restarts > 0).map(({ name, restarts, last_restart_at: at }) =>
    `${name} was started again ${restarts === 1 ? 'once' : `${restarts} times`}, the last time at ${at}`)
  const stateOf = (/** @type {string} */ name) => services.find((service) => service.name === name)?.state
  const gone = dead.filter((name) => !keeper || stateOf(name) === 'given-up')
  const returning = dead.filter((name) => !gone.includes(name))
  return [
    ...restarted,
    ...returning.length > 0 ? [`no longer running: ${returning.join(', ')}; the keeper starts it again`] : [],
    ...gone.length > 0 ? [`no longer running: ${gone.join(', ')}; run \`stevec down\`, then \`stevec up\``] : [],
    ...gone.map((name) => `the end of ${name} is in ${logOf(directory, name)}`)
  ]
}
