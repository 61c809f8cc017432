import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DEFAULT_PORTS } from '../src/config.js'
import { freePorts } from '@stevec/harness/ports'
import { startStack, stopStack } from '../src/stack/stack.js'

/**
 * Starts the wiki with its doors; the emulated edge stands in for Cloudflare.
 * @param {Record<string, string>} wikiEnvironment
 * @param {Partial<import('../src/stack/stack.js').StackOptions>} [options]
 */
export async function startDoors (wikiEnvironment, options) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-doors-'))
  const names = Object.keys(DEFAULT_PORTS)
  const free = await freePorts(names.length)
  const ports = /** @type {import('../src/config.js').Ports} */ (
    Object.fromEntries(names.map((name, index) => [name, free[index]]))
  )
  const stop = async () => {
    await stopStack(directory)
    rmSync(directory, { recursive: true, force: true })
  }
  const started = startStack({ directory, ports, wikiEnvironment, ...options })
  const { doors, controls } = await started.catch(async (error) => {
    await stop()
    throw error
  })
  return {
    directory,
    doors: { cached: doors.cached.url, nocache: doors.nocache.url, source: doors.source.url },
    control: controls.edge,
    stop
  }
}
