import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { stopProcess } from '@stevec/harness/processes'
import { replaceToxics, startToxiproxy } from '@stevec/harness/toxiproxy'
import { readProfile } from '../../profile/profile.js'
import { toxicsOf } from '../../profile/links.js'
import { doKnownRun } from '../known-run.js'
import { numberRow } from './row.js'

/** @typedef {import('./row.js').Case} Case */

const RTT_MS = 40
const REVISION = 1
const WITHIN = 0.05

/** A request over a link: one round trip, and one more for a new connection. @type {Case} */
export const linkDelay = {
  name: 'known-link',
  title: `a link of ${RTT_MS} ms`,
  async measure (context) {
    const run = await doKnownRun({
      name: this.name,
      settings: { pages: 5, requests: context.short ? 25 : 100 },
      factors: { connection_reuse: [true, false] },
      behaviour: { answer: () => ({ hit: false, revision: REVISION }) },
      through: (url) => startLinks(url, context.directory, 1, RTT_MS)
    }, context)
    return {
      ask: [{ run }],
      rows: (said) => said(run).trials.map((/** @type {any} */ trial) => {
        const isNew = trial.settings.connection_reuse === false
        const row = numberRow(
          'link',
          `of ${RTT_MS} ms there and back, ${isNew ? 'a new connection for each request' : 'one connection'}: mean`,
          isNew ? 2 * RTT_MS : RTT_MS,
          // The first request of a reused connection opens it.
          isNew ? trial.mean_ms : trial.p50_ms,
          WITHIN,
          'ms'
        )
        return { ...row, pass: row.pass && trial.valid, timed: true }
      })
    }
  }
}

/**
 * Starts links one after the other in front of a server.
 * @param {string} url  of the server
 * @param {string} directory  for the log
 * @param {number} hops
 * @param {number} [rttMs]  of the first link
 */
export async function startLinks (url, directory, hops, rttMs = 0) {
  const [api, ...listen] = await freePorts(hops + 1)
  const names = listen.map((_, index) => index === 0 ? 'client-edge' : `hop-${index}`)
  const links = listen.map((port, index) => ({
    name: names[index],
    listen: port,
    upstream: index + 1 < hops ? `127.0.0.1:${listen[index + 1]}` : new URL(url).host
  }))
  /** @type {import('@stevec/harness/processes').ProcessIdentity | undefined} */
  let toxiproxy
  const logFile = path.join(directory, 'links.log')
  const address = await startToxiproxy({
    links, port: api, logFile, outlive: false, onStart: (identity) => { toxiproxy = identity }
  })
  const { profile } = readProfile('none')
  const toxics = toxicsOf({ ...profile, links: { ...profile.links, client_edge_rtt_ms: rttMs } })
  await replaceToxics(address, { 'client-edge': toxics['client-edge'] })
  return {
    url: `http://127.0.0.1:${listen[0]}`,
    processes: () => toxiproxy === undefined
      ? []
      : [{ name: 'known links', pid: toxiproxy.pid, part: /** @type {const} */ ('links') }],
    close: async () => { if (toxiproxy !== undefined) await stopProcess(toxiproxy) }
  }
}
