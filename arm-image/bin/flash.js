#!/usr/bin/env node
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline/promises'
import { parseArgs } from 'node:util'
import { BOARDS, PARAMETERS } from '../recipe.js'
import { blockDeviceName, checkDisk, FlashError, gigabytes, writeImage } from '../src/flash.js'
import { buildDirectory } from '../src/parameters.js'

const HELP = `Usage: arm-image/flash DEVICE [--board NAME] [--yes]

Writes an image to a card and reads it back. All data on the card is lost. Refuses a device that is
not removable, too small or in use, or that holds the running system. Before it writes, it asks for
the name of the device.

  --board NAME   board of the image (default ${PARAMETERS.BOARD.default}):
                 ${Object.keys(BOARDS).join(', ')}
  --yes          does not ask

Exit code: 0 written and verified, 1 refused or failed, 2 wrong usage.

Examples:
  lsblk                                  # which one is the card
  sudo arm-image/flash /dev/sdb
  sudo arm-image/flash /dev/mmcblk0 --board bananapi
`

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { board: { type: 'string' }, yes: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
  })
  if (values.help) process.stdout.write(HELP)
  else if (positionals.length !== 1) throw Object.assign(new FlashError(`name exactly one device\n\n${HELP}`), { usage: true })
  else await flash(positionals[0], values.board ?? PARAMETERS.BOARD.default, values.yes === true)
} catch (error) {
  const { message, code, usage } = /** @type {any} */ (error)
  const explained =
    code === 'EACCES' ? `${message}; run it as root` : code === 'EBUSY' ? `${message}: it is in use` : message
  process.stderr.write(`flash: ${explained}\n`)
  process.exitCode = usage || code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
}

/**
 * @param {string} device
 * @param {string} board
 * @param {boolean} sure
 */
async function flash (device, board, sure) {
  const directory = path.join(buildDirectory(), board)
  if (!Object.hasOwn(BOARDS, board)) {
    throw new FlashError(`--board is one of ${Object.keys(BOARDS).join(', ')}, not "${board}"`)
  }
  if (!existsSync(path.join(directory, 'manifest.json'))) {
    throw new FlashError(`there is no image for ${board}; run: sudo make image BOARD=${board}`)
  }
  const manifest = JSON.parse(readFileSync(path.join(directory, 'manifest.json'), 'utf8'))
  const name = blockDeviceName(device)
  const { model, sizeBytes } = checkDisk(name, manifest.size_bytes)
  process.stdout.write(
    `${device}: ${model}, ${gigabytes(sizeBytes)}\nimage:  ${BOARDS[board].name}, ${
      gigabytes(manifest.size_bytes)
    }, SHA-256 ${manifest.sha256}\n`
  )
  if (!sure && !await confirmed(device)) throw new FlashError('nothing was written')
  checkDisk(name, manifest.size_bytes)
  let shown = -1
  writeImage({
    image: path.join(directory, manifest.image),
    sha256: manifest.sha256,
    target: device,
    onProgress (phase, doneBytes, totalBytes) {
      const percent = Math.floor(100 * doneBytes / totalBytes)
      if (percent !== shown) {
        process.stdout.write(`${process.stdout.isTTY ? '\r' : ''}${phase} ${String(percent).padStart(3)} %${process.stdout.isTTY && !(phase === 'verify' && percent === 100) ? '' : '\n'}`)
      }
      shown = percent
    }
  })
  try {
    execFileSync('blockdev', ['--rereadpt', device], { stdio: 'ignore' })
  } catch {
    /* this process does not use the new partition table */
  }
  process.stdout.write('written and verified; the card can be taken out\n')
}

/** @param {string} device */
async function confirmed (device) {
  if (!process.stdin.isTTY) throw new FlashError('confirmation needs a terminal; without one, confirm with --yes')
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await terminal.question(`Everything on it will be lost. Type ${device} to continue: `)
  terminal.close()
  return answer.trim() === device
}
