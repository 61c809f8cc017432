import { readConfig } from '../config.js'
import { containers, image, nginx, redis, testTool } from './debian-steps.js'
import { npmPackages, npmTestPackages, python, pythonEnvironment } from './package-steps.js'
import { helm, k6, links, mongod, pandoc, s3 } from './program-steps.js'

/** @typedef {import('./step.js').Step} Step */
/** @typedef {import('../config.js').Config} Config */

/** Steps that set-up runs only on request. @type {Record<string, (config: Config, environment: Step) => Step>} */
export const OPTIONAL_STEPS = {
  chromium: testTool('chromium', 'Chromium, in which the wiki is tested,', 'the tests in a browser'),
  faketime: testTool('faketime', 'faketime, which sets clocks of the slow tests,', 'slow tests that set clocks'),
  redis,
  containers,
  helm,
  s3,
  pandoc,
  wrk: testTool('wrk', 'wrk, which makes the load of the benchmarks,', 'the load of the benchmarks'),
  image
}

/**
 * Returns the steps for this machine, in the order in which set-up reports them.
 * @param {string[]} [optional]  keys of TOOLS that are optional and wanted
 * @param {ReturnType<typeof readConfig>} [config]
 * @returns {Step[]}
 */
export function steps (optional = [], config = readConfig()) {
  const environment = pythonEnvironment()
  const npm = npmPackages()
  const toxiproxy = links(config)
  return [
    nginx(config), npm, mongod(config, environment), toxiproxy, k6(config, toxiproxy), python(environment, npm),
    npmTestPackages(npm),
    ...optional.map((name) => OPTIONAL_STEPS[name](config, environment))
  ]
}
