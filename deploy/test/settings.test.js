import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { parseEnv } from 'node:util'
import { HERE } from '@stevec/deploy/release/units'
import { backupSettings, edgeSettings, originSettings } from '../release/programs/settings.js'

/** @param {string} name  a file in /etc/stevec, as the package has it */
const shipped = (name) => /** @type {Record<string, string>} */ (
  parseEnv(readFileSync(path.join(HERE, 'etc', name), 'utf8')))

/**
 * @param {import('node:test').TestContext} t @param {string} [token]  of purges
 * @returns {Record<string, string>} what systemd adds
 */
function credentials (t, token = 'a-token-of-32-characters-and-some') {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-credentials-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(path.join(folder, 'purge-token'), `${token}\n`)
  return { CREDENTIALS_DIRECTORY: folder }
}

test('the settings that the package ships are on the loopback address alone, and fit together', (t) => {
  const origin = originSettings(shipped('origin.env'))
  const edge = edgeSettings({ ...shipped('edge.env'), ...credentials(t) })
  assert.deepEqual([origin.listenAddress, edge.listenAddress], ['127.0.0.1', '127.0.0.1'])
  assert.equal(edge.origin.port, origin.port)
  assert.equal(edge.controlToken, 'a-token-of-32-characters-and-some')
  assert.equal(backupSettings({ ...shipped('wiki.env'), ...shipped('backup.env') }).keep, 14)
})

test('nginx sends pictures from the folder that its settings name', () => {
  assert.equal(originSettings(shipped('origin.env')).pictureFolder, undefined)
  const folder = '/var/lib/stevec-pictures'
  assert.equal(originSettings({ ...shipped('origin.env'), PICTURE_FOLDER: folder }).pictureFolder, folder)
})

test('with https the certificates are those that systemd has copied', (t) => {
  const tls = { TLS_CERTIFICATE: '/etc/letsencrypt/live/wiki/fullchain.pem', TLS_KEY: '/etc/letsencrypt/live/wiki/key' }
  assert.deepEqual(originSettings({ ...shipped('origin.env'), ...tls }).tls, {
    certificate: '/run/stevec-tls/origin/certificate.pem', key: '/run/stevec-tls/origin/key.pem'
  })
  assert.equal(
    edgeSettings({ ...shipped('edge.env'), ...credentials(t), ...tls }).tls?.key, '/run/stevec-tls/edge/key.pem'
  )
})

test('a setting that is not allowed is named', (t) => {
  for (const [bad, message] of /** @type {[Record<string, string>, RegExp][]} */ ([
    [{ LISTEN: '0.0.0.0' }, /LISTEN=0\.0\.0\.0 is not allowed/],
    [{ LISTEN: '127.0.0.1:80;}' }, /LISTEN/],
    [{ LISTEN: '127.0.0.1:70000' }, /LISTEN: "70000"/],
    [{ WIKI_PORTS: '3000,' }, /WIKI_PORTS: ""/],
    [{ WIKI_PORTS: '' }, /WIKI_PORTS is not set/],
    [{ REQUESTS_AT_ONCE_MAX: '-1' }, /REQUESTS_AT_ONCE_MAX/]
  ])) assert.throws(() => originSettings({ ...shipped('origin.env'), ...bad }), message)
  const edge = { ...shipped('edge.env'), ...credentials(t) }
  assert.throws(() => edgeSettings({ ...edge, PROFILE: 'akamai' }), /PROFILE=akamai/)
  assert.throws(() => edgeSettings({ ...edge, MAX_SIZE_MIB: '1g' }), /MAX_SIZE_MIB/)
  assert.throws(() => edgeSettings({ ...edge, ...credentials(t, '') }), /purge-token is empty; dpkg-reconfigure/)
  const nameless = { MONGODB_URI: 'mongodb://127.0.0.1:27027/?replicaSet=stevec' }
  assert.throws(() => backupSettings(nameless), /name of the wiki/)
})

test('the backup finds the database as the wiki does, also by a file', (t) => {
  const { CREDENTIALS_DIRECTORY: folder } = credentials(t)
  const file = path.join(folder, 'uri')
  const uri = 'mongodb://wiki:secret@127.0.0.1:27027/stevec?replicaSet=stevec'
  writeFileSync(file, `${uri}\n`)
  assert.equal(backupSettings({ MONGODB_URI_FILE: file }).uri, uri)
  assert.throws(() => backupSettings({ MONGODB_URI_FILE: file, MONGODB_URI: uri }), /both set/)
  assert.throws(() => backupSettings({ MONGODB_URI_FILE: `${file}.not` }), /cannot be read \(ENOENT\)/)
})
