import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'

/**
 * TiddlyWiki's own server, with its own folder; a view is one tiddler as HTML.
 * @param {string} command
 * @returns {import('./peer.js').Peer}
 */
export const tiddlywiki = (command) => ({
  name: 'TiddlyWiki',
  install: 'npm install --prefix /tmp/tiddlywiki tiddlywiki, ' +
    'then --tiddlywiki /tmp/tiddlywiki/node_modules/.bin/tiddlywiki',
  deployment: 'its own server',
  lacks: () => spawnSync(command, ['--version']).status === 0 ? null : command,
  version: () => execFileSync(command, ['--version'], { encoding: 'utf8' }).trim(),
  sentence: 'Lorem ipsum dolor sit amet, [[a link|https://example.org/]] and //more// text. ',
  async start (servers, text) {
    const home = path.join(servers.directory, 'tiddlywiki')
    execFileSync(command, [home, '--init', 'server'], { stdio: 'ignore' })
    const [port] = await freePorts(1)
    const { url, pid } = await servers.start({
      name: 'tiddlywiki',
      command,
      args: [home, '--load', page(servers.directory, text), '--listen', 'host=127.0.0.1', `port=${port}`],
      url: `http://127.0.0.1:${port}`,
      readyPath: '/Bench'
    })
    return { url, path: '/Bench', pids: [pid] }
  }
})

/**
 * @param {string} directory
 * @param {string} text
 * @returns {string} a file with one tiddler
 */
function page (directory, text) {
  const file = path.join(directory, 'Bench.tid')
  writeFileSync(file, `title: Bench\n\n${text}`)
  return file
}
