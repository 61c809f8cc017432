#!/usr/bin/env node
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Node's own code of a crash is 1, which means a violated limit here (src/exit-codes.js).
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack ?? error}\n`)
  process.exit(3)
})

linkPackages(fileURLToPath(new URL('../../', import.meta.url)))
const { main } = await import('../src/cli.js')
process.exitCode = await main(process.argv.slice(2))

/**
 * Links the packages of the checkout as npm would. Set-up, which runs npm, itself imports them.
 * @param {string} root  with a trailing slash
 */
function linkPackages (root) {
  const { workspaces } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  const scope = `${root}node_modules/@stevec`
  for (const name of workspaces.filter((/** @type {string} */ name) => !existsSync(`${scope}/${name}`))) {
    mkdirSync(scope, { recursive: true })
    try {
      symlinkSync(`../../${name}`, `${scope}/${name}`)
    } catch (error) {
      // A concurrent command has just created the link.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
    }
  }
}
