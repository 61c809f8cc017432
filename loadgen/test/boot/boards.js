import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { readConfig } from '../../src/config.js'
import { startBoard, stopBoard } from '@stevec/arm-image/emulator'
import { freePorts } from '@stevec/harness/ports'
import { waitUntil } from '@stevec/harness/processes'
import { locateTool } from '@stevec/harness/tools/locate'
import { createSandbox } from '../helper.js'

const { imageDirectory } = readConfig()
const qemu = locateTool('qemu')
const machines = qemu === null ? '' : spawnSync(qemu.path, ['-M', 'help'], { encoding: 'utf8' }).stdout

/** Boards whose image has the root filesystem that `virt` boots: every board. */
export const ANY_BOARD = ['lamobo-r1', 'bananapi', 'bpi-m2-ultra', 'qemu-virt']

/**
 * @param {string} machine
 * @param {string[]} boards
 * @returns {string | false} why this machine cannot run the test; false if it can
 */
export function skipReason (machine, boards) {
  if (qemu === null) return 'qemu-system-arm is missing; `./stevec setup --with image` installs it'
  if (!machines.includes(`\n${machine} `)) return `QEMU ${qemu.version} has no machine ${machine}; 8.1 or newer has`
  if (!boards.some((board) => existsSync(path.join(imageDirectory, board, 'manifest.json')))) {
    return `no image for it is built; sudo make image BOARD=${boards[0]}`
  }
  return false
}

/**
 * Starts a board for one test. Its database does not run yet.
 * @param {import('node:test').TestContext} t
 * @param {import('@stevec/arm-image/board').Machine} machine
 */
export async function switchOn (t, machine) {
  const sandbox = await createSandbox()
  // `stevec --origin board` looks for the board here.
  const directory = path.join(sandbox.directory, 'state/board')
  const [port] = await freePorts(1)
  t.after(async () => {
    await stopBoard(directory)
    sandbox.remove()
  })
  const state = await startBoard({
    directory,
    imageDirectory,
    machine,
    mongodbUri: `mongodb://127.0.0.1:${port}/stevec?replicaSet=stevec`
  })
  return { sandbox, directory, state, port, onProgress: (/** @type {string} */ text) => t.diagnostic(text) }
}

/** On an emulated CPU the first load and rendering may take longer than nginx's timeout; writePage retries. */
const WRITTEN_WITHIN_MS = 600_000

/**
 * Writes the page `Board`.
 * @param {string} url  of a board
 * @param {string} body
 */
export async function writePage (url, body) {
  let status = 0
  const written = await waitUntil(async () => {
    status = (await fetch(`${url}/wiki/Board`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/markdown' },
      body
    })).status
    return status === 200 || status === 201
  }, WRITTEN_WITHIN_MS, 1_000)
  assert.ok(written, `the page was not written: ${status}`)
}
