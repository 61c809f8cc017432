import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { SETTINGS } from '@stevec/wiki-app/settings'
import { readConfig, WIKI_VARIABLES } from '../src/config.js'
import { compareVersions, locateTool, requireTool } from '@stevec/harness/tools/locate'

describe('configuration', () => {
  test('takes a port from the environment, and sets no other port', () => {
    assert.deepEqual(readConfig({ EDGE_PORT: '9080' }).ports, { edge: 9080 })
    assert.deepEqual(readConfig({}).ports, {})
  })

  for (const value of ['0', '65536', 'http', '80.5', '-1']) {
    test(`refuses EDGE_PORT=${value} and says what is allowed`, () => {
      assert.throws(() => readConfig({ EDGE_PORT: value }), {
        message: `EDGE_PORT must be a port from 1 to 65535, not "${value}"`
      })
    })
  }

  test('passes no variable to k6 and the wiki that would change what is measured', () => {
    const { systemEnvironment, localWikiEnvironment } = readConfig({
      HOME: '/root',
      WORKERS: '2',
      K6_VUS: '9',
      CLOUDFLARE_API_TOKEN: 'secret',
      HTTP_PROXY: 'http://127.0.0.1:9',
      GOMAXPROCS: '1',
      NODE_OPTIONS: '--jitless'
    })
    assert.deepEqual(systemEnvironment, { HOME: '/root' })
    assert.deepEqual(localWikiEnvironment, { HOME: '/root', WORKERS: '2' })
  })

  test('passes every setting of the wiki to a wiki on this machine', () => {
    for (const name of Object.keys(SETTINGS)) assert.ok(WIKI_VARIABLES.includes(name), name)
  })
})

describe('a tool', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-tools-'))
  after(() => rmSync(directory, { recursive: true }))
  const old = path.join(directory, 'k6')
  writeFileSync(old, '#!/bin/sh\necho "k6 v0.49.0 (go1.21)"\n')
  chmodSync(old, 0o755)

  test('that the user names in a variable takes precedence', () => {
    const { path: real, version } = requireTool('k6')
    assert.deepEqual(locateTool('k6', readConfig({ K6_BIN: real, PATH: '' })), {
      name: 'k6',
      path: real,
      version: version.split('-')[0],
      from: 'K6_BIN'
    })
  })

  test('that the user names but is too old or missing is refused, with the name of the variable', () => {
    assert.throws(
      () => locateTool('k6', readConfig({ K6_BIN: old })),
      /K6_BIN=.*k6 0\.49\.0; 1\.8\.1 or newer is needed/
    )
    assert.throws(
      () => locateTool('k6', readConfig({ K6_BIN: '/nowhere/k6' })),
      /K6_BIN=\/nowhere\/k6 is not a k6 that runs here/
    )
  })

  test('that is on PATH but too old is ignored', () => {
    assert.equal(locateTool('k6', readConfig({ PATH: directory, STEVEC_TOOLS: path.join(directory, 'none') })), null)
  })

  test('that has several names is found under each of them', () => {
    const browser = path.join(directory, 'google-chrome')
    writeFileSync(browser, '#!/bin/sh\necho "Google Chrome 140.0.7339.80"\n')
    chmodSync(browser, 0o755)
    assert.deepEqual(locateTool('chromium', readConfig({ PATH: directory })), {
      name: 'chromium',
      path: browser,
      version: '140.0.7339',
      from: 'PATH'
    })
    assert.throws(
      () => locateTool('chromium', readConfig({ CHROMIUM_BIN: '/nowhere/chromium' })),
      /CHROMIUM_BIN=\/nowhere\/chromium is not a chromium that runs here/
    )
  })

  test('has its version compared as numbers, not as text', () => {
    assert.ok(compareVersions('1.10.0', '1.9.9') > 0)
    assert.ok(compareVersions('1.8.1', '1.8.1') === 0)
    assert.ok(compareVersions('0.49.0', '1.8.1') < 0)
  })
})
