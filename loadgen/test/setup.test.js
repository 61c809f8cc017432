import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { readConfig } from '../src/config.js'
import { ROOT } from '@stevec/harness/config'
import { request } from '@stevec/harness/request'
import { waitUntil } from '@stevec/harness/processes'
import { beginSetUp } from '@stevec/harness/tools/install'
import { TOOLS } from '@stevec/harness/tools/catalog'
import { remedyFor, requireTool } from '@stevec/harness/tools/locate'
import { steps } from '@stevec/harness/tools/steps'
import { createSandbox, STARTED_WITHIN_MS, trialsOf } from './helper.js'

const WAIT_MAX_MS = STARTED_WITHIN_MS

/** @param {import('node:test').TestContext} t */
function temporary (t) {
  const directory = mkdtempSync(path.join(os.tmpdir(), 'stevec-setup-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

test('set-up includes a browser only on request', () => {
  assert.ok(!steps().some(({ name }) => name === 'chromium'))
  assert.equal(steps(['chromium']).at(-1)?.name, 'chromium')
})

test('an installed browser is used; root gets a missing one from apt-get, others get the command', (t) => {
  const empty = mkdtempSync(path.join(os.tmpdir(), 'stevec-path-'))
  t.after(() => rmSync(empty, { recursive: true }))
  assert.match(String(steps(['chromium']).at(-1)?.present()), /^chromium \d+\.\d+\.\d+ \(/)
  assert.equal(steps(['chromium'], readConfig({ PATH: empty })).at(-1)?.present(), null)
  const blocked = steps(['chromium'], readConfig({ PATH: empty })).at(-1)?.blocked() ?? null
  if (process.getuid?.() === 0) assert.equal(blocked, null)
  else assert.match(String(blocked), /apt-get install -y --no-install-recommends chromium[^]*CHROMIUM_BIN/)
})

test('pandoc is used where it has what the converter needs, and its step says how to install it elsewhere', (t) => {
  const programs = temporary(t)
  const step = (/** @type {NodeJS.ProcessEnv} */ more = {}) => {
    const environment = { PATH: programs, STEVEC_TOOLS: programs, ...more }
    return /** @type {import('@stevec/harness/tools/step').Step} */ (steps(['pandoc'], readConfig(environment)).at(-1))
  }
  const write = (/** @type {string} */ version, /** @type {number} */ luaStatus) => writeFileSync(
    path.join(programs, 'pandoc'), `#!/bin/sh\n[ "$1" = lua ] && exit ${luaStatus}\necho pandoc ${version}`,
    { mode: 0o755 }
  )
  assert.equal(step().present(), null)
  write('2.17.1.1', 0)
  assert.equal(step().present(), null)
  write('3.9', 1)
  assert.equal(step().present(), null)
  assert.throws(() => step({ PANDOC_BIN: path.join(programs, 'pandoc') }).present(), /PANDOC_BIN=.* has no Lua/)
  write('3.9', 0)
  assert.equal(step().present(), 'pandoc 3.9 (PATH)')
  assert.match(remedyFor('pandoc'), /run `\.\/stevec setup --with pandoc` \(or set PANDOC_BIN/)
})

test('image tools are used if all are installed; root gets them from apt-get, others get the command', (t) => {
  const programs = mkdtempSync(path.join(os.tmpdir(), 'stevec-path-'))
  t.after(() => rmSync(programs, { recursive: true }))
  for (const program of ['mmdebstrap', 'arch-test', 'qemu-arm-static', 'genimage', 'mke2fs', 'xz', 'ssh']) {
    writeFileSync(path.join(programs, program), '', { mode: 0o755 })
  }
  const step = () =>
    /** @type {import('@stevec/harness/tools/step').Step} */ (steps(['image'], readConfig({ PATH: programs })).at(-1))
  if (!existsSync('/usr/sbin/qemu-system-arm')) assert.equal(step().present(), null)
  writeFileSync(path.join(programs, 'qemu-system-arm'), '#!/bin/sh\necho QEMU emulator version 10.0.2', { mode: 0o755 })
  assert.equal(step().present(), 'mmdebstrap, genimage, qemu 10.0.2 (PATH)')
  if (process.getuid?.() === 0) assert.equal(step().blocked(), null)
  else assert.match(String(step().blocked()), /sudo apt-get install -y --no-install-recommends mmdebstrap/)
})

test('an unknown value of `setup --with` is refused with the valid ones', () => {
  const { status, stderr } = spawnSync(path.join(ROOT, 'stevec'), ['setup', '--with', 'netscape'], { encoding: 'utf8' })
  assert.equal(status, 2)
  const all = 'chromium, faketime, redis, containers, helm, s3, pandoc, wrk, image'
  assert.ok(stderr.includes(`--with must be one of ${all}, not "netscape"`), stderr)
})

test('set-up runs without npm packages, and says that npm is missing', (t) => {
  const directory = temporary(t)
  const parts = [
    'harness/src', 'harness/links', 'harness/k6', 'harness/helm', 'harness/s3', 'harness/package.json', 'loadgen/bin',
    'loadgen/src', 'package.json', 'package-lock.json', '.npmrc', 'analysis/requirements.txt'
  ]
  for (const part of parts) {
    cpSync(path.join(ROOT, part), path.join(directory, part), { recursive: true })
  }
  const command = path.join(directory, 'loadgen/bin/stevec.js')
  const env = { PATH: path.join(directory, 'empty') }
  const { status, stderr } = spawnSync(process.execPath, [command, 'setup', '--', 'up'], { encoding: 'utf8', env })
  assert.equal(status, 3)
  assert.match(stderr, /npm is missing; it comes with Node\.js/)
})

test('a command that set-up cannot start is refused with those that it can', () => {
  const { status, stderr } = spawnSync(path.join(ROOT, 'stevec'), ['setup', '--', 'report'], { encoding: 'utf8' })
  assert.equal(status, 2)
  assert.match(stderr, /setup can start up or run, not "report"/)
})

describe('a set-up of several steps', () => {
  /**
   * A step that runs a shell command.
   * @param {string} name
   * @param {string} script
   * @param {Partial<import('@stevec/harness/tools/step').Step>} [more]
   * @returns {import('@stevec/harness/tools/step').Step}
   */
  const step = (name, script, more = {}) => ({
    name,
    purpose: 'a test',
    how: 'sh',
    browsing: false,
    lowPriority: false,
    needs: [],
    after: [],
    present: () => null,
    blocked: () => null,
    install: (run) => run('sh', ['-c', script]),
    ...more
  })
  const tools = process.env.STEVEC_TOOLS
  /** @type {string} */
  let directory
  /** @type {string} */
  let output
  beforeEach(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'stevec-setup-'))
    process.env.STEVEC_TOOLS = directory
    output = ''
  })
  after(() => {
    if (tools === undefined) delete process.env.STEVEC_TOOLS
    else process.env.STEVEC_TOOLS = tools
  })
  afterEach(() => rmSync(directory, { recursive: true }))
  const write = (/** @type {string} */ text) => { output += text }
  const has = (/** @type {string} */ file) => existsSync(path.join(directory, file))
  /** Returns a shell loop that ends when the test creates the file. @param {string} file */
  const until = (file) => `while [ ! -e ${directory}/${file} ]; do sleep 0.1; done`

  test('starts each step after the steps that it needs, and low-priority steps with nice 5', async () => {
    const first = step('first', `touch ${directory}/first`)
    const early = { needs: [first], browsing: true }
    const wiki = step('wiki', `[ -e ${directory}/first ] && nice >${directory}/wiki`, early)
    const rest = step('rest', `nice >${directory}/rest; ${until('go-on')}`, { after: [wiki], lowPriority: true })
    const setUp = beginSetUp({ write, wanted: [rest, wiki] })
    await setUp.browsing
    assert.deepEqual(setUp.left(), ['rest'])
    assert.ok(await waitUntil(() => has('rest'), WAIT_MAX_MS))
    writeFileSync(path.join(directory, 'go-on'), '')
    await setUp.all
    assert.deepEqual(setUp.left(), [])
    assert.equal(readFileSync(path.join(directory, 'wiki'), 'utf8').trim(), String(os.getPriority()))
    assert.equal(readFileSync(path.join(directory, 'rest'), 'utf8').trim(), '5')
    assert.match(output, /to install: wiki, for a test \(sh\)[^]*wiki: done in \d+ s[^]*rest: done in \d+ s/)
  })

  test('continues when a step fails, reports the failure at once, and names its log at the end', async () => {
    const bad = step('bad', 'echo no room; exit 3')
    const setUp = beginSetUp({ write, wanted: [bad, step('good', until('go-on'), { browsing: true })] })
    assert.ok(await waitUntil(() => /bad: failed after \d+ s; the other steps continue/.test(output), WAIT_MAX_MS))
    writeFileSync(path.join(directory, 'go-on'), '')
    await setUp.browsing
    const failure = /exit 3 failed \(exit code 3\), all of its output is in \S*setup-bad\.log:\nno room\nRemove the cause/
    await assert.rejects(setUp.all, failure)
    assert.equal(readFileSync(path.join(directory, 'setup-bad.log'), 'utf8'), 'no room\n')
  })

  test('leaves no process and no lock when it is aborted', async () => {
    const stop = new AbortController()
    const wanted = [step('slow', `echo $$ >${directory}/pid; exec sleep 600`)]
    const setUp = beginSetUp({ write, signal: stop.signal, wanted })
    const pid = () => has('pid') ? readFileSync(path.join(directory, 'pid'), 'utf8').trim() : ''
    assert.ok(await waitUntil(() => pid() !== '', WAIT_MAX_MS))
    stop.abort()
    await assert.rejects(setUp.all, { name: 'AbortError' })
    assert.equal(existsSync(`/proc/${pid()}`), false)
    assert.equal(has('setup-slow.lock'), false)
  })

  test('with onlyBrowsing starts although another step is blocked, and reports the reason at the end', async () => {
    const blocked = () => 'there is no Go here'
    const wanted = [step('wiki', 'true', { browsing: true }), step('rest', 'true', { blocked })]
    assert.throws(() => beginSetUp({ write, wanted }), /there is no Go here/)
    const setUp = beginSetUp({ write, wanted, onlyBrowsing: true })
    await setUp.browsing
    await assert.rejects(setUp.all, /there is no Go here/)
  })
})

describe('the setup command', () => {
  /** @type {Awaited<ReturnType<typeof createSandbox>>} */
  let sandbox
  before(async () => { sandbox = await createSandbox() })
  after(async () => {
    await sandbox.stevec(['down'])
    sandbox.remove()
  })

  /** Names the tools of this machine, except the one that the test installs. @param {string} missing */
  function without (missing) {
    const others = ['mongod', 'k6', 'toxiproxy'].filter((name) => name !== missing)
    return Object.fromEntries(others.map((name) => [TOOLS[name].variable, requireTool(name).path]))
  }

  /** Replaces the compiler, which takes minutes, by a program that runs until the test calls `goOn`. */
  function slowGo () {
    const programs = path.join(sandbox.directory, 'programs')
    const gate = path.join(sandbox.directory, 'go-on')
    mkdirSync(programs, { recursive: true })
    rmSync(gate, { force: true })
    writeFileSync(path.join(programs, 'go'), `#!/bin/sh
[ "$1" = version ] && exit 0
trap 'exit 1' INT TERM
while [ ! -e ${gate} ]; do sleep 0.1; done
while [ "$1" != -o ]; do shift || exit 1; done
cp ${requireTool('k6').path} "$2"
`, { mode: 0o755 })
    const tools = mkdtempSync(path.join(sandbox.directory, 'tools-'))
    const env = { ...without('k6'), STEVEC_TOOLS: tools, PATH: `${programs}:${process.env.PATH}` }
    return { tools, env, goOn: () => writeFileSync(gate, '') }
  }

  test('leaves no partial file when stopped; of two at once, one compiles and the other waits', async () => {
    const tools = mkdtempSync(path.join(sandbox.directory, 'tools-'))
    const env = { ...without('toxiproxy'), STEVEC_TOOLS: tools }
    const partials = () => readdirSync(tools).filter((entry) => /partial|lock/.test(entry))
    const stopped = sandbox.start(['setup'], env)
    assert.ok(await waitUntil(() => partials().length > 1 || stopped.child.exitCode !== null, WAIT_MAX_MS))
    process.kill(/** @type {number} */ (stopped.child.pid), 'SIGTERM')
    const { exitCode, stderr } = await stopped.done
    assert.equal(exitCode, 130, stderr)
    assert.deepEqual(partials(), [])

    const both = [sandbox.start(['setup'], env), sandbox.start(['setup'], env)]
    const outcomes = await Promise.all(both.map(({ done }) => done))
    for (const outcome of outcomes) assert.equal(outcome.exitCode, 0, outcome.stderr)
    const waited = outcomes.filter(({ stdout }) => /toxiproxy: another set-up \(process \d+\) installs it/.test(stdout))
    assert.equal(waited.length, 1)
    assert.deepEqual(partials(), [])
    assert.match((await sandbox.stevec(['setup'], env)).stdout, /^found: .*toxiproxy [\d.]+-\w+ \(\.tools\).*\n$/)
  })

  test('`setup -- up` opens the doors while k6 compiles; Ctrl-C leaves them open; the next completes', async (t) => {
    const { env, goOn } = slowGo()
    t.after(async () => {
      goOn()
      await sandbox.stevec(['down'])
    })
    const first = sandbox.start(['setup', '--', 'up'], env)
    const open = /The wiki is ready\. Still being installed, for experiments: k6\. Ctrl-C/
    const saysOpen = () => open.test(first.output.stdout)
    assert.ok(await waitUntil(() => saysOpen() || first.child.exitCode !== null, WAIT_MAX_MS), first.output.stderr)
    assert.match(first.output.stdout, /to install: k6, for the load of experiments[^]*up:\n {2}cached +http/)
    assert.equal((await request(`http://wiki.localhost:${sandbox.ports.edge}/`)).status, 200)
    // To the process group, as a terminal does at Ctrl-C.
    process.kill(-(/** @type {number} */ (first.child.pid)), 'SIGINT')
    assert.equal((await first.done).exitCode, 130)
    assert.equal((await sandbox.stevec(['status'])).exitCode, 0)

    const second = sandbox.start(['setup', '--', 'up'], env)
    const saysStillOpen = () => /already up since[^]*Still being installed/.test(second.output.stdout)
    assert.ok(await waitUntil(saysStillOpen, WAIT_MAX_MS), second.output.stderr)
    goOn()
    const { exitCode, stdout } = await second.done
    assert.equal(exitCode, 0)
    assert.match(stdout, /k6: done in \d+ s\n$/)
  })

  test('`setup -- run` starts the stack while k6 compiles, and measures once k6 is installed', async (t) => {
    const { env, goOn } = slowGo()
    t.after(goOn)
    const run = sandbox.start(['setup', '--', 'run', sandbox.experiment({})], env)
    const waits = () => /the stack is up; measuring waits for k6/.test(run.output.stdout)
    assert.ok(await waitUntil(() => waits() || run.child.exitCode !== null, WAIT_MAX_MS), run.output.stderr)
    assert.equal(existsSync(sandbox.results), false)
    goOn()
    const { exitCode, stdout, stderr } = await run.done
    assert.equal(exitCode, 0, `${stdout}${stderr}`)
    const [name] = readdirSync(sandbox.results)
    assert.deepEqual(trialsOf(path.join(sandbox.results, name)).map(({ valid }) => valid), [true, true])
  })
})
