import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { HOSTS } from './doors.js'
import { StackError } from './stack-error.js'

/** `https`: HTTP/1.1 over TLS; `http2`: HTTP/2 over TLS. @typedef {'http' | 'https' | 'http2'} Protocol */

/** Longer than any stack of the lab runs. */
const VALID_DAYS = 30

/**
 * @param {Protocol} protocol  of the clients at the doors
 * @param {string} directory  of a stack
 * @returns {Promise<import('@stevec/nginx').Tls | undefined>} undefined: plain HTTP
 * @throws {StackError} without openssl
 */
export const tlsOf = async (protocol, directory) =>
  protocol === 'http' ? undefined : { ...await makeCertificate(directory), http2: protocol === 'http2' }

/**
 * Makes a self-signed certificate for the names of the doors, and its key, which the owner of the files alone can read.
 * @param {string} directory  of a stack
 * @returns {Promise<{certificate: string, key: string}>} PEM files
 * @throws {StackError} without openssl
 */
async function makeCertificate (directory) {
  const folder = path.join(directory, 'tls')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const [certificate, key] = ['certificate.pem', 'key.pem'].map((file) => path.join(folder, file))
  const names = Object.values(HOSTS)
  try {
    await promisify(execFile)('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
      '-days', String(VALID_DAYS), '-subj', `/CN=${names[0]}`,
      '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join()}`, '-keyout', key, '-out', certificate
    ])
  } catch (error) {
    const { code, stderr } = /** @type {{code?: string | number, stderr?: string}} */ (error)
    throw new StackError(code === 'ENOENT'
      ? 'openssl, which makes the certificate of the doors, is not installed: install it, or leave protocol out'
      : `openssl made no certificate: ${stderr}`)
  }
  for (const file of [certificate, key]) chmodSync(file, 0o600)
  return { certificate, key }
}
