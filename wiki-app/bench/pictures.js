// Measures what a view of a picture costs by the place of its bytes: make bench-pictures.
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '@stevec/harness/config'
import { claimMachine } from '@stevec/harness/machine-lock'
import { freePorts } from '@stevec/harness/ports'
import { startS3 } from '@stevec/harness/s3'
import { nginxModulesDirectory, requireTool } from '@stevec/harness/tools/locate'
import { prepareRole } from '@stevec/nginx'
import { largePng } from '../test/images.js'
import { describeMachine } from './machine.js'
import { measureViews } from './picture-views.js'
import { residentMbOfAll } from './process.js'
import { meanOf, median, pairedRatio, ROUNDS_MAX } from './ratio.js'
import { createServers } from './servers.js'

const HELP = `Usage: node wiki-app/bench/pictures.js [options]

Measures views of pictures of several sizes through the origin's nginx, by the place of their bytes:
the database, a folder whose files the wiki or nginx sends, an S3 store (versitygw, a folder of the
same machine). Every response is compared in length. Latency as a client sees it (8 at once),
processor time and memory of each process. A round starts all of it anew for each place, in turn;
intervals are 95 %, Student's t on the logarithms of the rounds. Needs \`./stevec setup --with s3\`.

  --rounds N      2 to ${ROUNDS_MAX}, default 5 (about two minutes each)
  --output FILE   default results/bench/pictures.csv

Examples:
  make bench-pictures
  node wiki-app/bench/pictures.js --rounds 10
`
const SIZES_BYTES = [10_000, 100_000, 1_000_000, 5_000_000]
const CONNECTIONS = 8
/** A turn sends about as much of each size, but not so few that there is no 99th percentile. */
const TURN_BYTES = 100_000_000
const [VIEWS_MIN, VIEWS_MAX] = [100, 1_000]
const PICTURES_OF_A_SIZE = 10
const WARM_UP_VIEWS = 50
const PARTS = /** @type {const} */ (['wiki', 'mongod', 'nginx', 's3'])

/** @typedef {(typeof PARTS)[number]} Part */
/** @typedef {ReturnType<typeof createServers>} Servers */
/**
 * @typedef {{place: string, size_bytes: number, round: number, views: number, mean_ms: number, p50_ms: number,
 *   p99_ms: number} & Record<`${Part}_cpu_us` | `${Part}_mb`, number>} Row  0: there is no such process
 */

/** @type {Record<string, (folder: string, s3: () => Promise<S3>) => Promise<Record<string, string>>>} */
const PLACES = {
  database: async () => ({ PICTURE_STORE: 'database' }),
  disk: async (folder) => ({ PICTURE_STORE: 'disk', PICTURE_FOLDER: folder }),
  'disk-nginx': async (folder) => ({ PICTURE_STORE: 'disk', PICTURE_FOLDER: folder, PICTURE_SENDER: 'nginx' }),
  async s3 (_, start) {
    const { endpoint, bucket, keyId, secret } = await start()
    return {
      PICTURE_STORE: 's3',
      PICTURE_S3_ENDPOINT: endpoint,
      PICTURE_S3_BUCKET: bucket,
      PICTURE_S3_KEY_ID: keyId,
      PICTURE_S3_SECRET: secret
    }
  }
}

/** @typedef {import('@stevec/harness/s3').S3Server} S3 */

const note = (/** @type {string} */ text) => process.stderr.write(`${text}\n`)

/**
 * @param {string} place @param {number} round
 * @returns {Promise<Row[]>} one for each size; memory is that after the largest size
 */
async function measurePlace (place, round) {
  const servers = createServers()
  try {
    const { door, url, pids } = await startStack(servers, place)
    const rows = []
    for (const bytes of SIZES_BYTES) {
      const paths = await upload(url, bytes)
      const amount = Math.min(VIEWS_MAX, Math.max(VIEWS_MIN, Math.round(TURN_BYTES / bytes)))
      const turn = { url: door, paths, bytes, connections: CONNECTIONS, pids: Object.values(pids) }
      await measureViews({ ...turn, amount: WARM_UP_VIEWS })
      const { cpu_us: cpu, ...times } = await measureViews({ ...turn, amount })
      const used = Object.fromEntries(Object.keys(pids).map((part, index) => [`${part}_cpu_us`, cpu[index]]))
      rows.push({ place, size_bytes: bytes, round, views: amount, ...times, ...used })
    }
    const memory = Object.fromEntries(Object.entries(pids).map(([part, pid]) => [`${part}_mb`, residentMbOfAll(pid)]))
    return rows.map((row) => /** @type {Row} */ ({ ...NOTHING, ...row, ...memory }))
  } finally {
    await servers.stopAll()
  }
}

const NOTHING = Object.fromEntries(PARTS.flatMap((part) => [[`${part}_cpu_us`, 0], [`${part}_mb`, 0]]))

/** @param {Servers} servers @param {string} place */
async function startStack (servers, place) {
  const mongod = await servers.mongod()
  const folder = path.join(servers.directory, 'pictures')
  mkdirSync(folder)
  /** @type {Record<string, number>} */
  const pids = { mongod: mongod.pid }
  const settings = await PLACES[place](folder, async () => {
    const s3 = await startS3()
    servers.atEnd(s3.stop)
    pids.s3 = s3.identity().pid
    return s3
  })
  const wiki = await servers.wiki(mongod.uriFor('pictures'), { ...settings, UPLOAD_MAX_BYTES: '6000000' })
  const [port] = await freePorts(1)
  const binary = requireTool('nginx').path
  const { command, args } = await prepareRole(
    { role: 'origin', port, wikiPort: Number(new URL(wiki.url).port), pictureFolder: folder },
    { directory: path.join(servers.directory, 'nginx'), binary, modulesDirectory: nginxModulesDirectory(binary) ?? '' }
  )
  const door = `http://127.0.0.1:${port}`
  const nginx = await servers.start({ name: 'nginx', command, args, url: door, readyPath: '/readyz' })
  return { door, url: wiki.url, pids: { wiki: wiki.pid, nginx: nginx.pid, ...pids } }
}

/** @param {string} url  of the wiki @param {number} bytes @returns {Promise<string[]>} paths */
async function upload (url, bytes) {
  const paths = []
  for (let shade = 1; shade <= PICTURES_OF_A_SIZE; shade++) {
    const body = new Uint8Array(largePng(bytes, shade))
    const headers = { 'content-type': 'image/png' }
    const answer = await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body })
    if (answer.status !== 201) throw new Error(`an upload was answered ${answer.status}`)
    const { url: uploaded } = /** @type {{url: string}} */ (await answer.json())
    paths.push(uploaded)
  }
  return paths
}

/** @param {Row[]} rows @returns {string} */
function table (rows) {
  const lines = SIZES_BYTES.flatMap((bytes) => Object.keys(PLACES).map((place) => {
    const of = (/** @type {string} */ name) => rows.filter((row) => row.place === name && row.size_bytes === bytes)
    const cpuOf = (/** @type {Row} */ row) => PARTS.reduce((sum, part) => sum + row[`${part}_cpu_us`], 0)
    const [own, base] = [of(place), of('database')]
    const { ratio, low, high } = pairedRatio(own.map(cpuOf), base.map(cpuOf))
    const cpu = PARTS.map((part) => median(own.map((row) => row[`${part}_cpu_us`])).toFixed(0).padStart(7))
    const times = /** @type {const} */ (['p50_ms', 'p99_ms']).map((name) => {
      const { mean, low, high } = meanOf(own.map((row) => row[name]))
      return `${mean.toFixed(1)} (${low.toFixed(1)} … ${high.toFixed(1)})`.padStart(22)
    })
    const of1 = place === 'database' ? '1' : `${ratio.toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`
    return `${String(bytes / 1_000).padStart(6)} ${place.padEnd(11)}${times.join('')}${cpu.join('')}  ${of1}`
  }))
  const memory = Object.keys(PLACES).map((place) => {
    const own = rows.filter((row) => row.place === place)
    const usedBy = (/** @type {(typeof PARTS)[number]} */ part) => median(own.map((row) => row[`${part}_mb`]))
    return place.padEnd(11) + PARTS.map((part) => usedBy(part).toFixed(0).padStart(8)).join('')
  })
  return [
    '                           p50 ms                p99 ms       processor time of a view, µs     of all, against',
    '    kB place            (95 % interval)       (95 % interval)   wiki mongod  nginx     s3  the database',
    ...lines,
    '',
    `memory, MB ${PARTS.map((part) => part.padStart(8)).join('')}`,
    ...memory
  ].join('\n')
}

/** @param {{rounds: number, output: string}} options */
async function main ({ rounds, output }) {
  await claimMachine()
  requireTool('s3')
  /** @type {Row[]} */
  const rows = []
  const places = Object.keys(PLACES)
  // Each set of servers listens for an interrupt.
  process.setMaxListeners(2 * rounds * places.length)
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < places.length; turn++) {
      const place = places[(round + turn) % places.length]
      rows.push(...await measurePlace(place, round))
      note(`round ${round + 1} of ${rounds}: ${place}`)
    }
    mkdirSync(path.dirname(output), { recursive: true })
    const columns = /** @type {(keyof Row)[]} */ (Object.keys(rows[0]))
    const text = [columns, ...rows.map((row) => columns.map((name) => row[name]))].map((line) => `${line.join()}\n`)
    writeFileSync(output, text.join(''))
  }
  process.stdout.write(`${describeMachine()}\n\n${table(rows)}\n`)
}

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, output: { type: 'string' }, help: { type: 'boolean', short: 'h' } }
})
const rounds = Number(values.rounds ?? 5)
if (values.help) process.stdout.write(HELP)
else if (!Number.isInteger(rounds) || rounds < 2 || rounds > ROUNDS_MAX) {
  process.stderr.write(`--rounds must be a whole number from 2 to ${ROUNDS_MAX}\n`)
  process.exitCode = 2
} else {
  const output = values.output ?? path.join(readConfig().resultsDirectory, 'bench/pictures.csv')
  await main({ rounds, output }).catch((error) => {
    note(`bench: ${error.message}`)
    process.exitCode = 1
  })
}
