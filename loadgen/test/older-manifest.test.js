import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { ROOT } from '@stevec/harness/config'
import { loadDefinition } from '../src/lab/definition.js'
import { readManifest } from '../src/lab/manifest.js'
import { inTodaysForm } from '../src/lab/older-manifest.js'
import { requireForm } from '../src/profile/profile.js'
import { json } from './helper.js'
import { useShell } from './shell.js'

const SAMPLE = path.join(ROOT, 'results/sample-policy')
const { sandbox, run } = useShell()

test('a manifest of an older version is read in today\'s form', () => {
  const { profile, experiment, links } = /** @type {Record<string, any>} */ (readManifest(SAMPLE))
  requireForm(profile.asked, 'the profile of the sample')
  assert.equal(experiment.settings.arrivals, 'constant')
  assert.equal(links, true)
  const study = /** @type {Record<string, any>} */ (readManifest(path.join(ROOT, 'results/sample')))
  requireForm(study.profile.asked, 'the profile of the study')
  assert.equal('links' in study, false)
})

test('an older profile\'s uplink is the origin\'s; today\'s form stays as it is', () => {
  const older = { kind: 'run', profile: { asked: { links: { client_edge_rtt_ms: 30, uplink_mbit_per_s: 20 } } } }
  const today = {
    kind: 'run',
    profile: {
      asked: { links: { client_edge_rtt_ms: 30, origin_uplink_mbit_per_s: 20, client_uplink_mbit_per_s: null } }
    },
    experiment: { settings: { arrivals: 'poisson' } },
    links: false
  }
  assert.deepEqual(inTodaysForm(older).profile, today.profile)
  assert.deepEqual(inTodaysForm(today), today)
  assert.equal(inTodaysForm({ kind: 'run', target: { kind: 'cloudflare' } }).links, false)
})

test('a run of an older version is resumed with --accept-changes only, as links are gone from its way', async () => {
  const directory = path.join(sandbox().results, '20261121T140543Z-policy-0000000')
  mkdirSync(path.join(directory, 'trials'), { recursive: true })
  const only = { edit_ratio: ['0.05'] }
  // Texts of the experiment may have changed since.
  const { settings: { arrivals: _, ...settings }, ...experiment } = loadDefinition('policy', 'quick', { only })
  writeFileSync(path.join(directory, 'manifest.json'), JSON.stringify({
    ...json(path.join(SAMPLE, 'manifest.json')),
    status: 'interrupted',
    experiment: { ...experiment, settings }
  }))
  const { exitCode, stderr } = await run(['run', '--resume'])
  assert.match(stderr, /was begun under other conditions: .*no links stand between the hops any more/)
  assert.equal(exitCode, 2)
})
