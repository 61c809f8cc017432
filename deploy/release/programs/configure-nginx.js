#!/usr/bin/env node
// `configure-nginx.js origin|edge`, before nginx starts: renders its configuration from the settings, and checks it.
import { prepareRole } from '@stevec/nginx'
import { edgeSettings, nginxPlace, originSettings } from './settings.js'

const BINARY = '/usr/sbin/nginx'

try {
  const role = process.argv[2] === 'edge' ? edgeSettings(process.env) : originSettings(process.env)
  await prepareRole(role, { ...nginxPlace(process.env), binary: BINARY })
} catch (error) {
  process.stderr.write(`${/** @type {Error} */ (error).message}\n`)
  process.exitCode = 1
}
