import { loadDefinition, defaultPreset, PRESETS } from '../lab/definition.js'
import { splitOnly } from '../lab/levels.js'
import { testRun } from '../testrun/testrun.js'
import { UsageError } from '../usage-error.js'
import { integerOption, refuseMore, siteOption } from './options.js'

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'a trial as a TestRun of k6-operator, for generators in a Kubernetes cluster',
  help: `Usage: stevec testrun <experiment|FILE.json> --url URL [options]

Prints a ConfigMap with k6's script and a TestRun (k6.io/v1alpha1) that sends the requests of one
trial of an experiment: the same plan as \`stevec run\` with that seed, shared by as many k6 as
--generators says. k6-operator gives each its execution segment.

Only the load is in it. The wiki behind --url has to be there, with the settings of the cell and
with the pages page-000001 … as many as the experiment has. No cold caches are proved and no
counter is read: the lab is not there. k6 prints its own summary into the log of each pod.

  --url URL            of the door, http or https; pods have to reach it
  --cell LIST          the cell, as factor=level,…; needed where there are several
  --generators N       1 to 8, instead of the experiment's
  --preset NAME        ${PRESETS.join(', ')} (default quick, where there is one)
  --seed N             (default 1)
  --repetition N       whose plan to take (default 1)
  --image IMAGE        of k6 (default grafana/k6:1.8.1)

Exit code: 0 printed, 2 wrong usage.

Examples:
  stevec testrun read-hot --cell door=source --url https://wiki.example.com > testrun.yaml
  stevec testrun policy --cell policy=ttl,edit_ratio=0.05 --url https://wiki.example.com \\
    --generators 4 | kubectl apply -f -`,
  options: {
    url: { type: 'string' },
    cell: { type: 'string' },
    generators: { type: 'string' },
    preset: { type: 'string' },
    seed: { type: 'string' },
    repetition: { type: 'string' },
    image: { type: 'string' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 1)
    const [name] = positionals
    if (name === undefined) throw new UsageError('which experiment? Name one, or a .json file of your own')
    if (values.url === undefined) throw new UsageError('--url is missing: the door that the pods reach')
    const preset = PRESETS.find((each) => each === (values.preset ?? defaultPreset(name)))
    if (preset === undefined) throw new UsageError(`--preset is ${PRESETS.join(', ')}, not "${values.preset}"`)
    process.stdout.write(testRun({
      definition: loadDefinition(name, preset, { only: cellOption(values.cell) }),
      seed: integerOption(values.seed, '--seed', { least: 0, most: 2 ** 32 - 1 }) ?? 1,
      repetition: integerOption(values.repetition, '--repetition', { least: 1, most: 1000 }) ?? 1,
      url: siteOption(values.url, '--url', 'https://wiki.example.com').origin,
      generators: integerOption(values.generators, '--generators', { least: 1, most: 8 }),
      image: imageOption(values.image)
    }))
    return 0
  }
}

/**
 * @param {string | undefined} text
 * @returns {Record<string, string[]>} as `only` of loadDefinition
 */
function cellOption (text) {
  return Object.fromEntries(splitOnly(text ?? '').map((part) => {
    const [, factor, level] = /^([^=]+)=(.+)$/.exec(part) ?? []
    if (factor === undefined) throw new UsageError(`--cell is factor=level,…, not "${text}"`)
    return [factor, [level]]
  }))
}

/** @param {string} [text] */
function imageOption (text = 'grafana/k6:1.8.1') {
  if (!/^[a-z0-9][\w./:@-]{0,254}$/.test(text)) throw new UsageError(`--image is the name of an image, not "${text}"`)
  return text
}
