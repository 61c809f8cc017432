import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { after, describe, test } from 'node:test'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import {
  cellsOf, defaultPreset, DefinitionError, loadDefinition, parse
} from '../src/lab/definition.js'
import { DEFAULT_SETTINGS } from '../src/lab/settings.js'
import { experimentNames } from '../src/lab/experiment-files.js'
import { splitOnly } from '../src/lab/levels.js'
import { leaveOutMissing } from '../src/lab/missing-tools.js'
import { pauseLines, studyLines } from '../src/lab/study-lines.js'
import { STUDY } from '../src/lab/study.js'

const RECORDS = Object.freeze({ resource: 'record', framework: 'koa', door: 'source', page_size_chars: 100 })

describe('an experiment', () => {
  for (const name of experimentNames()) {
    test(`${name} follows the schema, has the name of its file, and has both presets`, () => {
      for (const preset of /** @type {const} */ (['quick', 'full'])) {
        const definition = loadDefinition(name, preset)
        assert.equal(definition.name, name)
        assert.ok(definition.repetitions >= 1)
        assert.ok(!('presets' in definition))
        assert.ok(cellsOf(definition).length >= 2)
      }
    })
  }

  test('of the study has the study\'s numbers, the closed model, and a new connection for each request', () => {
    const full = (/** @type {string} */ name) => loadDefinition(name, 'full')
    const numbers = Object.fromEntries(STUDY.filter((name) => name !== 'overload-open').map((name) => {
      const { pages, page_size_chars: size, requests } = full(name).settings
      return [name, [requests, pages, size]]
    }))
    assert.deepEqual(numbers, {
      'read-hot': [1000, 100, 5000],
      'read-sparse': [100, 1000, 5000],
      overload: [100, 1000, [100, 10000]],
      'at-once': [1000, 1000, [100, 10000]],
      'mixed-write': [10000, 100, 5000],
      'write-vs-read-direct': [200, 100, 1000],
      'write-vs-read-cached': [200, 30, 1000]
    })
    assert.deepEqual(
      full('overload').factors.background_vus,
      [0, 5, 10, 15, 25, 40, 50, 60, 70, 80, 100, 150, 200, 250]
    )
    assert.deepEqual(Object.keys(full('mixed-write').factors.page_size_chars), ['5000', '10000', '20000', '50000'])
    assert.deepEqual(
      cellsOf(full('write-vs-read-direct')).map(({ settings }) => [settings.edit_ratio, settings.pages]),
      [[1, 100], [0, 30]]
    )
    for (const name of STUDY.filter((name) => name !== 'overload-open')) {
      const { model, connection_reuse: reuse, ttl_s: ttl } = full(name).settings
      assert.deepEqual({ model, reuse, ttl }, { model: 'closed', reuse: false, ttl: 180 }, name)
    }
  })

  test('of the study, and no other, has a sample, with repetitions that can decide its hypothesis', () => {
    for (const name of STUDY) assert.equal(loadDefinition(name, 'sample').repetitions, 9, name)
    assert.throws(() => loadDefinition('policy', 'sample'), /policy\.json has no preset "sample"; it has: quick, full/)
    const levels = (/** @type {string} */ name, /** @type {string} */ factor) =>
      loadDefinition(name, 'sample').factors[factor]
    assert.deepEqual(levels('overload', 'background_vus'), [0, 10, 40, 100, 250])
    assert.deepEqual(levels('overload-open', 'rate_per_s'), [30, 60, 250])
  })

  test('of the study names what of the preset full the study does not state, by setting or factor', () => {
    for (const name of STUDY) {
      const { study, settings, factors } = loadDefinition(name, 'full')
      const known = [...Object.keys(settings), ...Object.keys(factors), 'repetitions']
      const named = Object.keys({ ...study?.not_stated, ...study?.differs })
      assert.ok(named.includes('repetitions') || name === 'overload-open', name)
      assert.deepEqual(named.filter((each) => !known.includes(each)), [], name)
    }
    const lines = studyLines(loadDefinition('mixed-write', 'full'), 'full')
    assert.match(lines.join('\n'), /the study does not state:\n {4}pause_s +by page size: .*\n[^]*other than in the study:\n {4}rep/)
    assert.deepEqual(studyLines(loadDefinition('mixed-write', 'quick'), 'quick'), [])
    assert.deepEqual(studyLines(loadDefinition('policy', 'full'), 'full'), [])
  })

  test('has the pause of a profile only if it is of the closed model and states none', () => {
    const pauseOf = (/** @type {string} */ name, /** @type {'quick' | 'full'} */ preset) =>
      loadDefinition(name, preset, { pause_s: 1.7 }).settings.pause_s
    assert.deepEqual(
      [
        pauseOf('read-sparse', 'full'), pauseOf('mixed-write', 'full'), pauseOf('write-vs-read-direct', 'full'),
        pauseOf('mixed-write', 'quick'), pauseOf('wikipedia-like', 'quick')
      ],
      [1.7, 0, 0, 0, 0]
    )
    assert.equal(loadDefinition('read-sparse', 'full').settings.pause_s, 0)
    const said = pauseLines(loadDefinition('mixed-write', 'full', { pause_s: 1.7 }), 1.7)
    assert.match(said.join(), /pause 0, 0\.034, 0\.102, 0\.306 s: the profile's 1\.7 s is for closed-loop exp/)
    assert.deepEqual(pauseLines(loadDefinition('read-sparse', 'full', { pause_s: 1.7 }), 1.7), [])
  })

  test('has a cell per combination of levels; a factor overrides earlier factors, the preset and the settings', () => {
    const cells = cellsOf(loadDefinition('mixed-write', 'quick'))
    assert.equal(cells.length, 8)
    assert.deepEqual(cells[1].cell, { page_size_chars: '5000', workload: 'get-only' })
    assert.deepEqual(
      [
        cells[6].settings.page_size_chars,
        cells[6].settings.pause_s,
        cells[6].settings.edit_ratio,
        cells[6].settings.ttl_s,
        cells[6].settings.timeout_s
      ],
      [50000, 0.05, 0.05, 1, 60]
    )
  })

  test('of edits by page size has runs whose length grows with the size, in lifetimes as in the study', () => {
    // A request of 5 kB takes about 34 ms under banana-pi, and 1 ms without a profile.
    for (const [preset, requestS] of /** @type {const} */ ([['quick', 0.001], ['sample', 0.034], ['full', 0.034]])) {
      const lifetimes = cellsOf(loadDefinition('mixed-write', preset)).map(({ cell, settings }) => [
        Number(cell.page_size_chars) / 5000,
        settings.requests * (settings.pause_s + requestS) / settings.ttl_s
      ])
      for (const [size, found] of lifetimes) {
        assert.ok(Math.abs(found - 2 * size) <= 0.6 * size, `${preset}: ${found} lifetimes at ${size} times 5 kB`)
      }
    }
  })

  test('takes repetitions, VUs and a selection of its cells from the command line', () => {
    const { repetitions, settings, factors } = loadDefinition('read-hot', 'quick', {
      repetitions: 2,
      vus: 4,
      only: { door: ['cached', 'source'] }
    })
    assert.deepEqual(
      { repetitions, vus: settings.vus, factors },
      { repetitions: 2, vus: 4, factors: { door: ['source', 'cached'] } }
    )
    assert.throws(
      () => loadDefinition('read-hot', 'quick', { only: { door: ['back'] } }),
      /the factor door has no level "back"; it has: source, nocache, local, cached/
    )
    assert.throws(
      () => loadDefinition('read-hot', 'quick', { only: { size: ['1'] } }),
      /there is no factor "size"; the factors are: door/
    )
  })

  test('of caches leaves out those that are not installed, with the reason, and is refused if none is left', () => {
    const definition = loadDefinition('caches', 'quick')
    const { factors, left_out: leftOut } = leaveOutMissing(definition, (name) => name === 'edge' || name === 'squid')
    assert.deepEqual(factors.cache, ['edge', 'squid'])
    assert.deepEqual(leftOut?.map(({ level }) => level), ['nginx', 'varnish', 'trafficserver'])
    assert.match(
      String(leftOut?.[1].reason),
      /varnish is not on this machine; run `apt-get install --no-install-recommends varnish` \(or set VARNISHD_BIN/
    )
    assert.equal(leaveOutMissing(definition, () => true), definition)
    assert.throws(
      () => leaveOutMissing(loadDefinition('caches', 'quick', { only: { cache: ['squid'] } }), () => false),
      /squid is not on this machine/
    )
  })

  test('with a Redis leaves out the levels with one where it is not installed, and is refused if all have one', () => {
    const withFactors = (/** @type {any} */ factors, settings = {}) => {
      const definition = loadDefinition('caches', 'quick')
      return { ...definition, factors, settings: { ...definition.settings, ...settings } }
    }
    const isThere = (/** @type {string} */ name) => name !== 'redis'
    const listed = leaveOutMissing(withFactors({ shared: ['none', 'redis'] }), isThere)
    assert.deepEqual(listed.factors, { shared: ['none'] })
    assert.match(String(listed.left_out?.[0].reason), /^redis is not on this machine; run `\.\/stevec setup --with redis`/)
    const named = { door: ['source'], store: { database: {}, redis: { shared: 'redis' } } }
    const left = leaveOutMissing(withFactors(named), isThere)
    assert.deepEqual(left.factors, { door: ['source'], store: { database: {} } })
    assert.deepEqual(left.left_out?.map(({ level }) => level), ['redis'])
    const always = withFactors({ door: ['source'] }, { shared: 'redis' })
    assert.throws(() => leaveOutMissing(always, isThere), /redis is not on this machine/)
    assert.equal(leaveOutMissing(always, () => true), always)
  })

  test('takes a number of virtual users for all trials, unless its levels have their own', () => {
    assert.equal(loadDefinition('read-hot', 'quick', { vus: 8 }).settings.vus, 8)
    assert.throws(() => loadDefinition('hosts', 'quick', { vus: 8 }),
      /--vus is for all trials, but the factor wikis of this experiment sets vus: leave --vus out, or change/)
  })

  test('that does not exist is refused with the one that may be meant, or the list of those that exist', () => {
    const all = /; the experiments are: .*read-hot/
    for (const [name, others] of /** @type {[string, RegExp][]} */ ([
      ['read-cold', /; did you mean "read-hot"\?$/], ['../package', all], ['', all], ['experiment.schema', all]
    ])) {
      assert.throws(
        () => loadDefinition(name, 'quick'),
        (error) => error instanceof DefinitionError && others.test(error.message)
      )
    }
  })

  test('that violates the schema is refused with the violated rule', () => {
    const good = JSON.parse(readFileSync(path.join(ROOT, 'loadgen/experiments/read-hot.json'), 'utf8'))
    const refused = (/** @type {object} */ change, /** @type {RegExp} */ message) =>
      assert.throws(() => parse(JSON.stringify({ ...good, ...change }), 'mine.json'), message)
    refused({ settings: { requests: 0 } }, /mine\.json: experiment\/settings\/requests must be >= 1/)
    refused({ settings: { colour: 'red' } }, /experiment\/settings must NOT have additional properties/)
    refused(
      { factors: { operation: { write: { edit_ratio: 2 } } } },
      /experiment\/factors\/operation\/write\/edit_ratio must be <= 1/
    )
    refused({ factors: undefined }, /must have required property 'factors'/)
    refused({ colour: 'red' }, /must NOT have additional properties/)
    assert.throws(() => parse('{', 'mine.json'), /mine\.json is not JSON/)
  })

  describe('in a user\'s file', () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-experiment-'))
    after(() => rmSync(directory, { recursive: true }))
    const words = { id: 'X1', name: 'mine', title: 'Mine', why: 'To see.', hypothesis: 'It is so.', expected: 'It is.' }
    const file = (/** @type {object} */ content) => {
      const name = path.join(directory, 'mine.json')
      writeFileSync(
        name,
        JSON.stringify({
          ...words,
          settings: {},
          factors: { door: ['source'] },
          presets: { quick: { repetitions: 1 } },
          ...content
        })
      )
      return name
    }

    test('gets the default of every setting that it does not name', () => {
      const { settings } = cellsOf(loadDefinition(file({}), 'quick'))[0]
      assert.deepEqual(settings, { ...DEFAULT_SETTINGS, door: 'source' })
    })

    test('that cannot be run is refused with the reason, such as an impossible cell', () => {
      for (const [content, message] of /** @type {[object, RegExp][]} */ ([
        [
          { factors: { door: ['back'] } },
          /in the cell door=back: settings\/door must be equal to one of the allowed values/
        ],
        [{ factors: { speed: [1, 2] } }, /the factor speed is a list, but there is no setting of this name/],
        [{ factors: { model: ['closed', 'open'] } }, /in the cell model=open: the open model needs rate_per_s/],
        [{ settings: { rate_per_s: 5 } }, /rate_per_s is for the open model/],
        [
          { settings: { model: 'open', rate_per_s: 1, duration_max_s: 10 } },
          /1000 requests at 1 a second take longer than duration_max_s = 10/
        ],
        [{ settings: { page_size_chars: [200, 100] } }, /page_size_chars goes from 200 down to 100/],
        [
          { settings: { page_size_chars: { lognormal: { median: 2000, sigma: 1, max: 1000 } } } },
          /page_size_chars has a median of 2000, above its max of 1000/
        ],
        [
          { settings: { page_size_chars: { lognormal: { median: 2000, sigma: 1 } } } },
          /page_size_chars\/lognormal must have required property 'max'/
        ],
        [
          { settings: { burst: { factor: 50, at_s: 1, ramp_s: 1, for_s: 2 } } },
          /burst is for the open model, bound by "either"/
        ],
        [
          {
            settings: {
              burst: { factor: 50, at_s: 1, ramp_s: 1, for_s: 2 },
              model: 'open',
              bound: 'either',
              rate_per_s: 1,
              duration_max_s: 3
            }
          },
          /the burst ends after 4 s, beyond duration_max_s = 3/
        ],
        [{ settings: { burst: { factor: 1, at_s: 1, ramp_s: 1, for_s: 2 } } }, /burst\/factor must be > 1/],
        [
          { settings: { fault: { kind: 'origin-down', from_s: 1, for_s: 2 } } },
          /fault is for the open model without a background, bound by "either"/
        ],
        [
          {
            settings: {
              fault: { kind: 'origin-down', from_s: 1, for_s: 2 },
              model: 'open',
              bound: 'either',
              rate_per_s: 1,
              duration_max_s: 3
            }
          },
          /the fault ends after 3 s, and the trial after 3 s: no request would show the recovery/
        ],
        [
          {
            settings: {
              fault: { kind: 'edge-parted', from_s: 1, for_s: 1 },
              model: 'open',
              bound: 'either',
              rate_per_s: 1,
              duration_max_s: 3
            }
          },
          /the fault edge-parted is of the links of one edge, at the door cached with cache=edge/
        ],
        [{ settings: { edit_door: 'source' } }, /edit_door is for edits by one POST beside reads of pages at the door/],
        [{ settings: { edit_door: 'source', door: 'local', edit: 'get-post' }, factors: { vus: [1] } }, /edit_door is for/],
        [{ settings: { beyond_bound_s: 1 } }, /beyond_bound_s is for the policy bounded, not for ttl/],
        [{ settings: { beyond_bound_s: 0.5, policy: 'bounded' } }, /beyond_bound_s must be integer/],
        [
          { settings: { fault: { kind: 'fire', from_s: 1, for_s: 2 } } },
          /fault\/kind must be equal to one of the allowed values/
        ],
        [{ settings: { cache: 'squid' } }, /cache sets the cache at the door cached, and the door is source/],
        [
          { settings: { cache: 'squid', door: 'cached', collapsing: false }, factors: { vus: [1] } },
          /only the edge can switch request collapsing off/
        ],
        [
          { settings: { resource: 'short-link', short_link_reads: 'redis' } },
          /short_link_reads=redis needs a Redis: set shared to redis or redis-replicated/
        ],
        [
          { settings: { short_link_index: 'hashed' } },
          /short_link_index and short_link_reads are for resource short-link/
        ],
        [
          { settings: { resource: 'short-link', edit: 'get-post' } },
          /a short link is made by one PUT: edit is for resource page/
        ],
        [{ settings: { resource: 'short-link', short_link_index: 'lsm' } }, /short_link_index must be equal to one of/],
        [{ settings: { edit_links: 10, page_size_chars: 500 } }, /a text with 10 links has at least 600 characters/],
        [{ settings: { framework: 'koa' } }, /framework and record_stop are for resource record/],
        [{ settings: { write_strategy: 'bulk' } }, /write_strategy of a page is sync or group-commit or .*, not bulk/],
        [
          { settings: { write_strategy: 'unsafe-bulk', edit_ratio: 0.5 } },
          /write_strategy unsafe-bulk answers before it stores, .*: set edit_ratio to 1, edit to post/
        ],
        [
          { settings: { write_strategy: 'unsafe-group', edit_ratio: 1, edit: 'create-get' } },
          /write_strategy unsafe-group answers before it stores, .*: set edit_ratio to 1, edit to post/
        ],
        [
          { settings: { write_strategy: 'unsafe-write-behind', edit_ratio: 1 } },
          /write_strategy unsafe-write-behind needs a Redis: set shared to redis or redis-replicated/
        ],
        [
          { settings: { ...RECORDS, edit_ratio: 1, write_strategy: 'unsafe-bulk' } },
          /write_strategy of a record is none or sync or .*, not unsafe-bulk/
        ],
        [
          { settings: { resource: 'short-link', edit_ratio: 1, write_strategy: 'unsafe-async' } },
          /write_strategy of a short-link is sync, not unsafe-async/
        ],
        [{ settings: { gather_ms: 5 } }, /gather_max and gather_ms are for group-commit, group, bulk, not for/],
        [{ settings: RECORDS }, /a GET inserts nothing: write_strategy must be none/],
        [{ settings: { ...RECORDS, edit_ratio: 0.5 } }, /a trial of records reads or writes: edit_ratio is 0 or 1/],
        [
          { settings: { ...RECORDS, edit_ratio: 1, edges: 2 } },
          /records go past doors, caches and pages: edges must be 1/
        ],
        [{ settings: { ...RECORDS, edit_ratio: 1, page_size_chars: 10_001 } }, /of a record is one number up to 10000/],
        [
          { settings: { ...RECORDS, edit_ratio: 1, record_stop: { signal: 'SIGKILL', after_requests: 5 } } },
          /record_stop ends the trial early: bound must be "either"/
        ],
        [
          {
            settings: {
              ...{ ...RECORDS, edit_ratio: 1, bound: 'either', requests: 5 },
              record_stop: { signal: 'SIGKILL', after_requests: 5 }
            }
          },
          /after_requests and its spread must be less than requests/
        ],
        [{ settings: { popularity: { zipf: 0 } } }, /popularity\/zipf must be > 0/],
        [{ settings: { popularity: 'zipf' } }, /popularity must be equal to one of the allowed values/],
        [{ settings: { pages: 100000, page_size_chars: 1000000 } }, /100000 pages of this size are more than/]
      ])) assert.throws(() => loadDefinition(file(content), 'quick'), message)
      assert.throws(() => loadDefinition(file({}), 'full'), /mine\.json has no preset "full"; it has: quick/)
      assert.throws(() => loadDefinition(path.join(directory, 'none.json'), 'quick'), /there is no file .*none\.json/)
    })
  })
})

describe('an experiment of the user\'s own', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-definition-'))
  after(() => rmSync(directory, { recursive: true }))
  const file = (/** @type {object} */ content) => {
    const name = path.join(directory, 'mine.json')
    writeFileSync(name, JSON.stringify(content))
    return name
  }

  test('needs a name and one factor', () => {
    const mine = file({ name: 'my-own', factors: { door: ['source', 'cached'] } })
    const { id, title, settings, repetitions } = loadDefinition(mine, 'quick')
    assert.deepEqual([id, title, settings.requests, repetitions], ['MYOWN', 'my-own', 1000, 3])
    assert.equal(loadDefinition(mine, 'full').repetitions, 10)
    assert.equal(defaultPreset(mine), 'quick')
    const full = file({ name: 'x', factors: { vus: [1] }, presets: { full: { repetitions: 1 } } })
    assert.equal(defaultPreset(full), 'full')
  })

  test('is refused if an expectation names an unknown factor or level', () => {
    const claim = { that: 'It is so.', measure: 'hit_ratio', is: 'at_least', value: 0.5 }
    const factors = { door: ['source', 'cached'], vus: [1, 8] }
    for (const [levels, message] of /** @type {[object, RegExp | null][]} */ ([
      [{ door: 'cached', vus: [1, 8] }, null],
      [{ doors: 'cached' }, /"It is so\." names the factor "doors"; the factors are: door, vus/],
      [{ vus: [1, 9] }, /names the level "9" of vus, which has: 1, 8/]
    ])) {
      const load = () => loadDefinition(file({ name: 'x', factors, expectations: [{ ...claim, in: levels }] }), 'quick')
      if (message === null) assert.equal(cellsOf(load()).length, 4)
      else assert.throws(load, message)
    }
  })

  test('is refused if the report could not decide an expectation', () => {
    const factors = { door: ['source', 'cached'], vus: [1, 8] }
    const refused = (/** @type {object} */ claim, /** @type {RegExp} */ message) => assert.throws(() => loadDefinition(
      file({ name: 'x', factors, expectations: [{ that: 'It is so.', measure: 'hit_ratio', ...claim }] }), 'quick'
    ), message)
    const pair = { in: { vus: 1 }, than: { vus: 8 } }
    refused(
      { in: { vus: 1 }, is: 'below', value: 1 }, /"It is so\.": with value, "is" is at_most, at_least, not "below"/
    )
    refused({ ...pair, is: 'at_most' }, /with than, "is" is below, above, within, not "at_most"/)
    refused({ ...pair, is: 'within' }, /"within" needs "plus"/)
    refused({ ...pair, in: { door: 'cached' }, is: 'above' }, /name one level each of the same factors/)
    refused({ ...pair, in: { vus: [1, 8] }, is: 'above' }, /name one level each of the same factors/)
    refused({ in: { vus: [] }, is: 'at_most', value: 1 }, /it names no level/)
  })

  test('shows and selects levels that are objects or have commas', () => {
    const factors = { popularity: ['uniform', { zipf: 0.9 }], page_size_chars: [100, [100, 1000]] }
    const only = splitOnly('popularity={"zipf":0.9}, page_size_chars=100,1000')
    assert.deepEqual(only, ['popularity={"zipf":0.9}', 'page_size_chars=100,1000'])
    const wanted = Object.fromEntries(only.map((part) => part.split('=')).map(([name, level]) => [name, [level]]))
    const [cell, ...others] = cellsOf(loadDefinition(file({ name: 'x', factors }), 'quick', { only: wanted }))
    assert.deepEqual(cell.cell, { popularity: { zipf: 0.9 }, page_size_chars: [100, 1000] })
    assert.deepEqual(others, [])
    assert.deepEqual(splitOnly('E3, mixed-write'), ['E3', 'mixed-write'])
  })
})
