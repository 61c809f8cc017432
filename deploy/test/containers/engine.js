// Runs compose.yaml as a container engine does, on runc (the runtime of Docker and podman), as far as that goes.
import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { waitUntil } from '@stevec/harness/processes'
import { processOf, writeBundle } from './bundle.js'
import { startOrder } from './composition.js'
import { makeNetworks } from './network.js'

/** @import {Composition} from './composition.js' */
/** @import {Image} from './images.js' */

const READY_TIMEOUT_MS = 180_000
const POLL_MS = 500
const EXEC_TIMEOUT_MS = 30_000

/**
 * @typedef {object} Container
 * @property {string} id
 * @property {Promise<number | null>} ended  its exit code
 */

/** One composition of containers. */
export class Engine {
  /** @type {Map<string, Container>} */
  #containers = new Map()
  #id = `stevec${process.pid}`
  #folder = mkdtempSync(path.join(tmpdir(), 'stevec-containers-'))
  #composition
  #images
  #networks

  /** @param {Composition} composition @param {Record<string, Image>} images */
  constructor (composition, images) {
    this.#composition = composition
    this.#images = images
    this.#networks = makeNetworks(this.#id, composition)
  }

  /** Where the host is: the namespace with the bridges. */
  get outside () { return this.#networks.outside }

  /** @param {string} service @param {string} network */
  address (service, network) { return this.#networks.addresses[service][network] }

  /** Starts all services, each when those that it depends on are as compose.yaml wants them. */
  async up () {
    for (const name of startOrder(this.#composition)) {
      for (const [other, { condition }] of Object.entries(this.#composition.services[name].depends_on ?? {})) {
        await this.#until(other, condition)
      }
      this.start(name)
    }
    const { services } = this.#composition
    for (const name of Object.keys(services)) {
      await this.#until(name, services[name].restart === 'no' ? 'service_completed_successfully' : 'service_healthy')
    }
  }

  /** @param {string} name  of a service */
  start (name) {
    const service = this.#composition.services[name]
    const bundle = path.join(this.#folder, name)
    const id = `${this.#id}-${name}`
    mkdirSync(bundle, { recursive: true })
    writeBundle({
      id,
      service,
      image: this.#images[service.image],
      folder: bundle,
      volumes: path.join(this.#folder, 'volumes'),
      namespace: this.#networks.namespaces[name],
      hosts: this.#networks.hosts(name)
    })
    const log = openSync(this.#log(name), 'a')
    const child = spawn('runc', ['run', '--bundle', bundle, id], { stdio: ['ignore', log, log] })
    closeSync(log)
    const ended = new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve))
    ended.catch(() => {})
    this.#containers.set(name, { id, ended })
  }

  /**
   * @param {string} name @param {string[]} command
   * @returns {Promise<{code: number, output: string}>}
   */
  async exec (name, command) {
    const { id } = this.#container(name)
    return promisify(execFile)('runc', ['exec', id, ...command], { timeout: EXEC_TIMEOUT_MS }).then(
      ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
      ({ stdout, stderr, code }) => ({ code: code ?? -1, output: stdout + stderr })
    )
  }

  /** @param {string} name @param {string} signal */
  async kill (name, signal) {
    const { id, ended } = this.#container(name)
    await promisify(execFile)('runc', ['kill', id, signal])
    return ended
  }

  /**
   * Stops a service as an engine does: with its signal, and SIGKILL after the grace period.
   * @param {string} name
   * @returns {Promise<{code: number | null, inTime: boolean}>}
   */
  async stop (name) {
    const { image, stop_grace_period: grace = '10s' } = this.#composition.services[name]
    const { id, ended } = this.#container(name)
    await promisify(execFile)('runc', ['kill', id, this.#images[image].config.StopSignal ?? 'SIGTERM']).catch(() => {})
    let over = false
    ended.finally(() => { over = true }).catch(() => {})
    const inTime = await waitUntil(() => over, Number.parseInt(grace, 10) * 1000) ?? false
    if (!inTime) await promisify(execFile)('runc', ['kill', id, 'SIGKILL']).catch(() => {})
    this.#containers.delete(name)
    return { code: await ended, inTime }
  }

  /** Stops all services, each after those that depend on it; networks and volumes stay. */
  async down () {
    /** @type {Record<string, {code: number | null, inTime: boolean}>} */
    const ends = {}
    while (this.#containers.size > 0) {
      const running = [...this.#containers.keys()]
      const needed = new Set(running.flatMap((name) => Object.keys(this.#composition.services[name].depends_on ?? {})))
      await Promise.all(running.filter((name) => !needed.has(name)).map(async (name) => {
        ends[name] = await this.stop(name)
      }))
    }
    return ends
  }

  async remove () {
    await this.down()
    this.#networks.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** @param {string} name */
  log (name) { return readFileSync(this.#log(name), 'utf8') }

  /** @param {string} name */
  #log (name) { return path.join(this.#folder, `${name}.log`) }

  /** @param {string} name @returns {Container} */
  #container (name) {
    const container = this.#containers.get(name)
    if (container === undefined) throw new Error(`${name} does not run`)
    return container
  }

  /** @param {string} name @returns {Promise<boolean>} */
  async healthy (name) {
    const { image, healthcheck } = this.#composition.services[name]
    const [kind, ...command] = healthcheck?.test ?? this.#images[image].config.Healthcheck?.Test ?? []
    if (kind === undefined) throw new Error(`neither ${name} nor its image has a health check`)
    return (await this.exec(name, kind === 'CMD-SHELL' ? ['/bin/sh', '-c', ...command] : command)).code === 0
  }

  /** @param {string} name @param {string} condition */
  async #until (name, condition) {
    const { ended } = this.#container(name)
    const failed = (/** @type {unknown} */ why) => new Error(`${name} ${why}:\n${this.log(name).slice(-3_000)}`)
    if (condition === 'service_completed_successfully') {
      const code = await ended
      if (code !== 0) throw failed(`ended with ${code}`)
      return
    }
    let over = false
    ended.finally(() => { over = true }).catch(() => {})
    const healthy = await waitUntil(async () => over || this.healthy(name), READY_TIMEOUT_MS, POLL_MS)
    if (over) throw failed('ended')
    if (!healthy) throw failed('did not become healthy')
  }

  /** @param {string} name  what an engine would start there */
  process (name) {
    const service = this.#composition.services[name]
    return processOf(service, this.#images[service.image])
  }
}
