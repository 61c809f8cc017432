import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { OPEN_FILES, openFilesWarning } from '../src/stack/open-files.js'

const MODULE = new URL('../src/stack/open-files.js', import.meta.url).href
const PRINT = `import { openFilesWarning } from '${MODULE}'; process.stdout.write(String(openFilesWarning()))`

/** @param {string} ulimit  what the shell does before it starts Node */
const warningAfter = (ulimit) =>
  execFileSync('sh', ['-c', `${ulimit}; exec "$0" --input-type=module -e "$1"`, process.execPath, PRINT]).toString()

test('a low hard limit of open files gives a warning with the next step', () => {
  assert.match(warningAfter('ulimit -Sn 1000; ulimit -Hn 1024'),
    /a process may open 1024 files here, and nginx may need 16384: with more than about 512 clients.*ulimit -n 16384/)
})

test('a low soft limit below a high hard one gives none: Node raises its own, and its children inherit it', (t) => {
  const hard = execFileSync('sh', ['-c', 'ulimit -Hn']).toString().trim()
  if (hard !== 'unlimited' && Number(hard) < OPEN_FILES) return t.skip(`the hard limit is ${hard}`)
  assert.equal(warningAfter('ulimit -Sn 256'), 'null')
})

test('where the system does not say, there is no warning', () => {
  assert.equal(openFilesWarning(''), null)
  assert.equal(openFilesWarning('Max open files            unlimited            unlimited            files'), null)
})

test('the number is the one that nginx asks for', () => {
  const template = readFileSync(new URL('../../nginx/templates/main.eta', import.meta.url), 'utf8')
  assert.match(template, new RegExp(`^worker_rlimit_nofile ${OPEN_FILES};$`, 'm'))
})
