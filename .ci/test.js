// Runs every check in turn, shows what each prints, and ends with how many passed and failed.
import { spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
const bin = (/** @type {string} */ name) => path.join(ROOT, 'node_modules/.bin', name)
const venv = (/** @type {string} */ name) => path.join(ROOT, '.venv/bin', name)

/**
 * `counts` reads passed and failed from what a test runner prints; a check without it counts as one.
 * @type {{name: string, command: string, args: string[], counts?: (output: string) => {passed: number, failed: number}}[]}
 */
const CHECKS = [
  { name: 'lint JavaScript', command: bin('eslint'), args: ['.', '--max-warnings', '0'] },
  { name: 'lint Python', command: venv('ruff'), args: ['check', '--quiet', 'analysis'] },
  { name: 'format Python', command: venv('ruff'), args: ['format', '--check', '--quiet', 'analysis'] },
  { name: 'types', command: bin('tsc'), args: ['--project', 'tsconfig.json'] },
  { name: 'types in the browser', command: bin('tsc'), args: ['--project', 'wiki-app/src/assets'] },
  {
    name: 'tests JavaScript',
    command: process.execPath,
    args: ['--test', '--test-timeout=600000', '--test-reporter=spec', ...testFiles(['wiki-app/test', 'wiki-app/test/browser', 'nginx/test', 'cdn/test', 'loadgen/test', 'arm-image/test'])],
    counts: (output) => ({ passed: lastNumber(output, /^ℹ pass (\d+)$/gm), failed: lastNumber(output, /^ℹ (?:fail|cancelled) (\d+)$/gm) })
  },
  {
    name: 'tests Python',
    command: venv('python'),
    args: ['-m', 'pytest', '--quiet', 'analysis/tests'],
    counts: (output) => ({ passed: lastNumber(output, /(\d+) passed/g), failed: lastNumber(output, /(\d+) (?:failed|error)/g) })
  }
]

/** @param {string[]} folders */
function testFiles (folders) {
  return folders.flatMap((folder) => readdirSync(path.join(ROOT, folder)).filter((file) => file.endsWith('.test.js')).sort().map((file) => path.join(folder, file)))
}

/**
 * @param {string} output
 * @param {RegExp} pattern
 */
function lastNumber (output, pattern) {
  // eslint-disable-next-line no-control-regex -- colours
  const matches = [...output.replace(/\u001b\[\d+m/g, '').matchAll(pattern)]
  return Math.max(0, ...matches.map((match) => Number(match[1])))
}

/** @param {(typeof CHECKS)[number]} check */
function run ({ command, args }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout.on('data', (chunk) => { output += chunk; process.stdout.write(chunk) })
    child.stderr.on('data', (chunk) => { output += chunk; process.stderr.write(chunk) })
    child.once('error', (error) => resolve({ exitCode: 1, output: String(error) }))
    child.once('close', (exitCode) => resolve({ exitCode, output }))
  })
}

let passed = 0
let failed = 0
const summary = []
for (const check of CHECKS) {
  console.log(`\n== ${check.name}`)
  const { exitCode, output } = await run(check)
  const counts = check.counts?.(output) ?? { passed: exitCode === 0 ? 1 : 0, failed: exitCode === 0 ? 0 : 1 }
  // A runner that fails without a failed test (it crashed, or found none) must not count as good.
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1
  if (exitCode === 0 && counts.passed === 0) counts.failed = 1
  passed += counts.passed
  failed += counts.failed
  summary.push(`${counts.failed === 0 ? 'ok    ' : 'FAILED'}  ${check.name}: ${counts.passed} passed, ${counts.failed} failed`)
}
console.log(`\n${summary.join('\n')}\n\n${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
