import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean } from '../src/nearest.js'
import { useShell } from './shell.js'

const { run } = useShell()

test('says its version and commit', async () => {
  for (const word of ['--version', '-V', 'version']) {
    const { exitCode, stdout } = await run([word])
    assert.match(stdout, /^stevec \d+\.\d+\.\d+( \(commit [0-9a-f]{7,}\))?\n$/)
    assert.equal(exitCode, 0)
  }
})

test('`help COMMAND` is `COMMAND --help`', async () => {
  for (const name of ['run', 'status']) {
    const help = await run(['help', name])
    assert.match(help.stdout, new RegExp(`^Usage: stevec ${name}`))
    assert.deepEqual(help, await run([name, '--help']))
  }
  assert.deepEqual(await run(['help']), await run(['--help']))
  const unknown = await run(['help', 'rnu'])
  assert.deepEqual([unknown.exitCode, unknown.stdout], [2, ''])
  assert.match(unknown.stderr, /there is no command "rnu"; did you mean "run"\?/)
})

test('a misspelt command, option or experiment gets an error that names similar ones', async () => {
  for (const [args, message] of /** @type {[string[], string][]} */ ([
    [['stauts'], 'there is no command "stauts"; did you mean "status"?\n(see stevec --help)'],
    [['compre'], 'there is no command "compre"; did you mean "compare"?'],
    [['cloud', 'plan'], 'there is no command "cloud"; did you mean "cloudflare"?'],
    [['status', '--jsno'], 'there is no option --jsno; did you mean "--json"?\n(see stevec status --help)'],
    [['status', '-json'], 'there is no option -json; did you mean "--json"?'],
    [['up', '--plicy=ttl'], 'there is no option --plicy; did you mean "--policy"?'],
    [['up', '--colour'], 'there is no option --colour\n'],
    [['run', 'readhot'], 'there is no experiment "readhot"; did you mean "read-hot"?'],
    [['run', 'stduy'], 'there is no experiment "stduy"; did you mean "study"?'],
    [['run', 'write'], 'did you mean "write-batching", "write-vs-read-cached" or "write-vs-read-direct"?'],
    [['run', 'e1'], 'there is no experiment "e1"; E1 is read-hot\n'],
    [['run', 'E3'], 'there is no experiment "E3"; E3 is at-once, overload, overload-open\n']
  ])) {
    const { exitCode, stderr } = await run(args)
    assert.ok(stderr.includes(message), `${args.join(' ')}: ${stderr}`)
    assert.equal(exitCode, 2)
  }
})

test('words that are far from every name get no suggestion', () => {
  const names = ['run', 'report', 'restore', 'up']
  assert.equal(didYouMean('walk', names), '')
  assert.equal(didYouMean('', names), '')
  assert.equal(didYouMean('x'.repeat(1000), names), '')
  assert.equal(didYouMean('re', names), '')
  assert.equal(didYouMean('REPROT', names), '; did you mean "report"?')
  assert.equal(didYouMean('dn', ['one', 'two'], '--'), '')
})
