import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'

/**
 * Runs the analysis on the folder of a run or study: tables, figures and one HTML file. The folder is its only input.
 * @param {string} runDirectory
 * @throws {Error} when the analysis refuses the run (and explains it on stderr) or is not installed
 */
export async function writeReport (runDirectory) {
  const python = path.join(ROOT, '.venv/bin/python')
  if (!existsSync(python)) throw new Error('the analysis is not installed; run `make setup`')
  const child = spawn(python, ['-m', 'stevec_report', runDirectory], {
    cwd: path.join(ROOT, 'analysis'),
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => { output += text })
  const exitCode = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (exitCode !== 0) throw new Error('no report was written; the output above says why')
  process.stdout.write(`report: ${path.relative(process.cwd(), output.trim().split('\n').at(-1) ?? '')}\n`)
}
