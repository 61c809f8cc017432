import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { logTail, startProcess, waitUntil } from '@stevec/harness/processes'

const STARTED_WITHIN_MS = 60_000

/**
 * Starts the record service in a process of its own, on a free port.
 * @param {import('node:test').TestContext | undefined} t  kills it at the end
 * @param {{directory: string, name: string, uri: string} & Record<string, string | number>} options  besides: settings
 *   without their prefix, such as GATHER_MS
 */
export async function startRecordService (t, { directory, name, uri, ...settings }) {
  const logFile = path.join(directory, `${name}.log`)
  const service = await startProcess({
    name,
    command: process.execPath,
    args: [path.join(ROOT, 'loadgen/records/service.js')],
    logFile,
    env: {
      ...process.env,
      RECORDS_MONGODB_URI: uri,
      RECORDS_COLLECTION: name,
      ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`RECORDS_${key}`, String(value)]))
    }
  })
  const kill = (/** @type {NodeJS.Signals} */ signal) => { process.kill(service.pid, signal) }
  let hasEnded = false
  service.exited.then(() => { hasEnded = true })
  t?.after(async () => {
    if (!hasEnded) kill('SIGKILL')
    await service.exited
  })
  const url = await waitUntil(() => hasEnded || /listening on (\S+)/.exec(readFileSync(logFile, 'utf8'))?.[1],
    STARTED_WITHIN_MS)
  if (typeof url !== 'string') throw new Error(`the record service did not start:\n${logTail(logFile)}`)
  return {
    url,
    kill,
    exited: service.exited,
    log: () => readFileSync(logFile, 'utf8'),

    /** @param {string | Uint8Array<ArrayBuffer> | object} record @param {Record<string, string>} [headers] */
    post: (record, headers = {}) => fetch(`${url}/records`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof record === 'string' || record instanceof Uint8Array ? record : JSON.stringify(record)
    }),
    /** @param {string} address */
    get: async (address) => {
      const response = await fetch(url + address)
      return { status: response.status, body: /** @type {any} */ (await response.json()) }
    }
  }
}

/** @param {string} key */
export const record = (key) => ({ key, number: 7, text: 'a simple record' })
