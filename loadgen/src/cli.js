import { parseArgs } from 'node:util'
import { readConfig } from './config.js'
import { EXIT, EXIT_HELP, exitCodeOf } from './exit-codes.js'
import { didYouMean } from './nearest.js'
import { UsageError } from './usage-error.js'
import { versionText } from './version.js'

/**
 * @typedef {object} Command
 * @property {string} summary  one line for the list of commands
 * @property {string} help  usage, options, examples
 * @property {Record<string, {type: 'string' | 'boolean', short?: string, multiple?: boolean}>} options
 * @property {Record<string, {pattern: RegExp, otherwise: string}>} [optionalValues]  of options that may stand without
 *   one: what follows them is their value if it matches
 * @property {(invocation: Invocation) => Promise<number>} run  returns the exit code
 */

/**
 * `beforeDashes`: how many of the positionals are before `--`; all without it.
 * @typedef {Early & {
 *   values: Record<string, any>, positionals: string[], beforeDashes: number, commandLine: string}} Invocation
 */

/**
 * Options of a command that starts during set-up.
 * @typedef {object} Early
 * @property {import('@stevec/harness/tools/install').SetUp} [setUp]
 * @property {AbortSignal} [signal]  aborts on an interrupt; default: the command's own signal
 */

/**
 * Loaded on demand: `setup` has to run before any package is installed.
 * @type {Record<string, () => Promise<Command>>}
 */
const COMMANDS = {
  setup: () => import('./commands/setup.js').then((module) => module.command),
  up: () => import('./commands/up.js').then((module) => module.command),
  edge: () => import('./commands/edge.js').then((module) => module.command),
  board: () => import('./commands/board.js').then((module) => module.command),
  down: () => import('./commands/down.js').then((module) => module.command),
  status: () => import('./commands/status.js').then((module) => module.command),
  run: () => import('./commands/run.js').then((module) => module.command),
  simulate: () => import('./commands/simulate.js').then((module) => module.command),
  calibrate: () => import('./commands/calibrate.js').then((module) => module.command),
  load: () => import('./commands/load.js').then((module) => module.command),
  trace: () => import('./commands/trace.js').then((module) => module.command),
  report: () => import('./commands/report.js').then((module) => module.command),
  compact: () => import('./commands/compact.js').then((module) => module.command),
  cloudflare: () => import('./commands/cloudflare.js').then((module) => module.command),
  backup: () => import('./commands/backup.js').then((module) => module.command),
  restore: () => import('./commands/restore.js').then((module) => module.command),
  export: () => import('./commands/export.js').then((module) => module.command),
  import: () => import('./commands/import.js').then((module) => module.command),
  compare: () => import('./commands/compare.js').then((module) => module.command),
  'compare-run': () => import('./commands/compare-run.js').then((module) => module.command),
  testrun: () => import('./commands/testrun.js').then((module) => module.command),
  predict: () => import('./commands/predict.js').then((module) => module.command),
  advise: () => import('./commands/advise.js').then((module) => module.command),
  verify: () => import('./commands/verify.js').then((module) => module.command)
}

/**
 * Runs the `stevec` command.
 * @param {string[]} argv  without node and script
 * @param {Early} [early]
 * @returns {Promise<number>} exit code (exit-codes.js)
 */
export async function main (argv, early = {}) {
  const [name, ...rest] = argv
  if (name === '--version' || name === '-V' || name === 'version') {
    process.stdout.write(`${versionText()}\n`)
    return 0
  }
  if (name === 'help' && rest.length > 0) return main([rest[0], '--help'], early)
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    process.stdout.write(await overview())
    return name === undefined ? EXIT.usage : EXIT.good
  }
  try {
    if (!Object.hasOwn(COMMANDS, name)) throw new UsageError(unknownCommand(name))
    const command = await COMMANDS[name]()
    const { values, positionals, beforeDashes } = parse(withValues(rest, command.optionalValues), command.options)
    if (values.help) {
      process.stdout.write(`${command.help}\n`)
      return 0
    }
    const commandLine = ['stevec', ...argv].join(' ')
    return await command.run({ ...early, values, positionals, beforeDashes, commandLine })
  } catch (error) {
    const exitCode = exitCodeOf(error)
    process.stderr.write(`${exitCode === EXIT.interrupted ? 'interrupted' : complaint(error, name)}\n`)
    return exitCode
  }
}

/**
 * @param {unknown} error
 * @param {string} name  of the command
 */
function complaint (error, name) {
  const { message, stack } = /** @type {Error} */ (error)
  if (error instanceof UsageError) {
    return `stevec: ${message}\n(see stevec ${Object.hasOwn(COMMANDS, name) ? `${name} ` : ''}--help)`
  }
  return `stevec ${name}: ${isDebug() ? stack : message}`
}

/** A variable that readConfig refuses may be the error itself. */
function isDebug () {
  try {
    return readConfig().debug
  } catch {
    return false
  }
}

/** @param {string} name */
function unknownCommand (name) {
  const names = Object.keys(COMMANDS)
  return `there is no command "${name}"${didYouMean(name, names) || `; the commands are: ${names.join(', ')}`}`
}

/**
 * @param {string[]} args
 * @param {Command['optionalValues']} [optionalValues]
 * @returns {string[]} with a value for each option that stands without one
 */
function withValues (args, optionalValues = {}) {
  const end = args.indexOf('--')
  return args.map((arg, index) => {
    const optional = arg.startsWith('--') && (end === -1 || index < end) && Object.hasOwn(optionalValues, arg.slice(2))
    if (!optional) return arg
    const { pattern, otherwise } = optionalValues[arg.slice(2)]
    return pattern.test(args[index + 1] ?? '') ? arg : `${arg}=${otherwise}`
  })
}

/**
 * @param {string[]} args
 * @param {Command['options']} commandOptions
 */
function parse (args, commandOptions) {
  const options = { ...commandOptions, help: { type: /** @type {const} */ ('boolean'), short: 'h' } }
  refuseUnknownOptions(args, options)
  try {
    const { values, positionals, tokens } = parseArgs({
      args, options, allowPositionals: true, strict: true, tokens: true
    })
    const dashes = tokens.findIndex(({ kind }) => kind === 'option-terminator')
    const before = dashes === -1 ? tokens : tokens.slice(0, dashes)
    return { values, positionals, beforeDashes: before.filter(({ kind }) => kind === 'positional').length }
  } catch (error) {
    throw new UsageError(/** @type {Error} */ (error).message)
  }
}

/**
 * Node's own message does not say which option may be meant.
 * @param {string[]} args
 * @param {Command['options']} options
 * @throws {UsageError}
 */
function refuseUnknownOptions (args, options) {
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true })
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(options, token.name)) continue
    // `-json` is more likely a long option with a dash too few than four letters.
    const typed = token.rawName.startsWith('--') ? token.rawName : args[token.index]
    const name = typed.replace(/=.*/s, '')
    throw new UsageError(`there is no option ${name}${didYouMean(name.replace(/^-+/, ''), Object.keys(options), '--')}`)
  }
}

async function overview () {
  const lines = [
    'stevec: a wiki built to be cached, four doors to it, and a lab that measures what caching buys',
    '',
    'Usage: stevec <command> [options]',
    ''
  ]
  for (const [name, load] of Object.entries(COMMANDS)) {
    // Before set-up, commands that import packages cannot be loaded.
    const summary = await load().then((command) => command.summary, () => '(run `make setup` first)')
    lines.push(`  ${name.padEnd(11)} ${summary}`)
  }
  return `${lines.join('\n')}\n\n${EXIT_HELP}\n\n` +
    'stevec help <command> describes a command, with examples; stevec --version says which one this is.\n'
}
