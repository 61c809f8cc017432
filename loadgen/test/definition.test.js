import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '../src/config.js'
import { DefinitionError, experimentNames, loadDefinition, parse } from '../src/lab/definition.js'

describe('an experiment', () => {
  for (const name of experimentNames()) {
    test(`${name} keeps to the schema and is named like its file`, () => {
      for (const preset of /** @type {const} */ (['quick', 'full'])) {
        const definition = loadDefinition(name, preset)
        assert.equal(definition.name, name)
        assert.ok(definition.repetitions >= 1)
        assert.ok(!('presets' in definition))
      }
    })
  }

  test('read-hot has the study\'s numbers', () => {
    const { pages, page_size_chars: size, requests, vus, connection_reuse: reuse, ttl_s: ttl } = loadDefinition('read-hot', 'full')
    assert.deepEqual({ pages, size, requests, vus, reuse, ttl }, { pages: 100, size: 5000, requests: 1000, vus: 1, reuse: false, ttl: 180 })
  })

  test('takes repetitions and VUs from the command line', () => {
    const { repetitions, vus } = loadDefinition('read-hot', 'quick', { repetitions: 2, vus: 4 })
    assert.deepEqual({ repetitions, vus }, { repetitions: 2, vus: 4 })
    assert.equal(loadDefinition('read-hot', 'quick', { repetitions: undefined }).repetitions, 5)
  })

  test('that does not exist is refused with those that do', () => {
    for (const name of ['read-cold', '../package', '', 'experiment.schema']) {
      assert.throws(() => loadDefinition(name, 'quick'), (error) => error instanceof DefinitionError && /there is: .*read-hot/.test(error.message))
    }
  })

  test('that breaks the schema is refused with what is wrong', () => {
    const good = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/experiments/read-hot.json'), 'utf8'))
    const refused = (/** @type {object} */ change, /** @type {RegExp} */ message) => assert.throws(() => parse(JSON.stringify({ ...good, ...change }), 'mine.json'), message)
    refused({ requests: 0 }, /mine\.json: experiment\/requests must be >= 1/)
    refused({ doors: ['cached', 'back'] }, /experiment\/doors\/1 must be equal to one of the allowed values/)
    refused({ hypothesis: undefined }, /must have required property 'hypothesis'/)
    refused({ colour: 'red' }, /must NOT have additional properties/)
    assert.throws(() => parse('{', 'mine.json'), /mine\.json is not JSON/)
  })
})
