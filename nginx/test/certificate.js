import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const noOpenssl = spawnSync('openssl', ['version']).status !== 0 &&
  'openssl, which creates the certificates, is not installed'

/**
 * Creates a self-signed certificate and its key in files of their own, which the end of the test removes.
 * @param {import('node:test').TestContext} t
 * @param {string} name  of a host
 */
export function certificateFor (t, name) {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-certificate-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [key, certificate] = ['key.pem', 'certificate.pem'].map((file) => path.join(directory, file))
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`, '-keyout', key, '-out', certificate
  ], { stdio: 'ignore' })
  return { certificate, key, options: { key: readFileSync(key), cert: readFileSync(certificate) } }
}
