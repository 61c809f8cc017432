import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { ROOT } from '@stevec/harness/config'

/** @returns {string} such as `stevec 0.1.0 (commit 0123abc)`; outside a clone without the commit */
export function versionText () {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8'))
  const commit = commitOfClone()
  return `stevec ${version}${commit === null ? '' : ` (commit ${commit})`}`
}

function commitOfClone () {
  try {
    return execFileSync('git', ['-C', ROOT, 'rev-parse', '--short=7', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore']
    }).trim()
  } catch {
    return null
  }
}
