import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { describe, test } from 'node:test'
import { TokenError } from '@stevec/cdn/cloudflare/token'
import { ToolError } from '@stevec/harness/tools/locate'
import { BackupError, WrongDatabaseError } from '@stevec/wiki-app/backup/format'
import { RepositoryError } from '@stevec/wiki-app/moving/git/git'
import { CalibrationError } from '../src/calibrate/calibrate.js'
import { BudgetError } from '../src/cloudflare/budget.js'
import { ConfigError } from '../src/config.js'
import { exitCodeOf } from '../src/exit-codes.js'
import { DefinitionError } from '../src/lab/definition.js'
import { ResultsError } from '../src/lab/results.js'
import { ProfileError } from '../src/profile/profile.js'
import { StackError } from '../src/stack/stack-error.js'
import { UsageError } from '../src/usage-error.js'
import { useShell } from './shell.js'

describe('the exit code', () => {
  const { sandbox, run } = useShell()

  /** @param {[string[], number, RegExp, Record<string, string>?][]} cases */
  async function check (cases) {
    for (const [args, code, message, env] of cases) {
      const { exitCode, stdout, stderr } = await run(args, env)
      assert.match(stdout + stderr, message, args.join(' '))
      assert.equal(exitCode, code, args.join(' '))
    }
  }

  test('is 0 for what was done', async () => {
    await check([[['--version'], 0, /^stevec \d/], [['--help'], 0, /^ {2}3 {4}broken:/m]])
  })

  test('is 1 for what was checked and does not hold', async () => {
    const torn = path.join(sandbox().directory, 'torn.gz')
    writeFileSync(torn, 'no backup')
    await check([
      [['status'], 1, /nothing runs/],
      [['restore', torn, '--uri', 'mongodb://127.0.0.1:9/wiki'], 1, /it is damaged or no gzip file/]
    ])
  })

  test('is 2 for a wrong command line, variable, name, port, definition or profile', async () => {
    const broken = path.join(sandbox().directory, 'broken.json')
    writeFileSync(broken, '{"name": "broken"}')
    const { edge, origin } = sandbox().ports
    await check([
      [[], 2, /^Usage: stevec <command>/m],
      [['walk'], 2, /there is no command "walk"/],
      [['status', '--colour'], 2, /--colour/],
      [['status'], 2, /EDGE_PORT must be a port/, { EDGE_PORT: 'x' }],
      [['up', '--edge-port', '0'], 2, /--edge-port must be a port/],
      [['up', '--edge-port', String(origin)], 2, /is given twice/],
      [['up', '--profile', 'moon'], 2, /there is no profile "moon"/],
      [['up', '--profile', broken], 2, /must have required property 'links'/],
      [['run', 'nothing'], 2, /there is no experiment "nothing"/],
      [['run', broken], 2, /must have required property 'factors'/],
      [['run', '--resume'], 2, /there is no unfinished run/],
      [['report', 'nothing'], 2, /there is no run "nothing"/],
      [['compare', 'nothing', 'latest'], 2, /there is no run "nothing"/],
      // Python writes its complaint itself.
      [['predict', '--pages', 'many'], 2, /^$/],
      [['calibrate', '--profile', 'none'], 2, /has no "calibration"/],
      [
        ['cloudflare', 'plan', '--zone', 'example.com', '--origin', '203.0.113.7'], 2, /CLOUDFLARE_API_TOKEN/,
        { CLOUDFLARE_API_TOKEN: '', CLOUDFLARE_API_TOKEN_FILE: '' }
      ],
      [['load', '--url', `http://127.0.0.1:${edge}`, '--parallel', '0'], 2, /--parallel must be a whole number/]
    ])
  })

  test('is 3 for a part that does not start, a tool that is missing, a folder that cannot be made', async (t) => {
    const taken = createServer()
    await new Promise((resolve) => taken.listen(sandbox().ports.edge, '127.0.0.1', () => resolve(undefined)))
    t.after(() => { taken.close() })
    await check([
      [['up'], 3, /port \d+ \(edge\) is already taken/],
      [['up', '--edge-port', String(sandbox().ports.edge)], 3, /port \d+ \(edge\) is already taken/],
      [['run', 'read-hot'], 3, /K6_BIN|k6/, { K6_BIN: '/nowhere/k6' }],
      [['edge', '--origin', 'http://127.0.0.1:9'], 3, /NGINX_BIN/, { NGINX_BIN: '/nowhere/nginx' }],
      [['edge', '--origin', 'http://127.0.0.1:9', '--cache', '/dev/null/cache'], 3, /ENOTDIR/]
    ])
  })

  test('follows the class of an error; an unknown one means broken', () => {
    const classes = [
      UsageError, ConfigError, DefinitionError, ProfileError, ResultsError, BudgetError, TokenError, CalibrationError,
      WrongDatabaseError, RepositoryError, BackupError, ToolError, StackError, TypeError
    ]
    assert.deepEqual(classes.map((Class) => exitCodeOf(new Class('x'))), [2, 2, 2, 2, 2, 2, 2, 1, 2, 2, 1, 3, 3, 3])
    assert.equal(exitCodeOf(AbortSignal.abort().reason), 130)
    assert.equal(exitCodeOf(undefined), 3)
  })
})
