import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'
import { lacksPhp, startPhp } from './php.js'

const PROGRAM = '/usr/share/dokuwiki'
const SETTINGS = '/etc/dokuwiki'
const DATA = ['attic', 'cache', 'index', 'locks', 'log', 'media', 'media_attic', 'media_meta', 'meta', 'pages', 'tmp']

/** DokuWiki from Debian's package, with its own settings and pages. @type {import('./peer.js').Peer} */
export const dokuwiki = {
  name: 'DokuWiki',
  install: 'apt-get install --no-install-recommends dokuwiki php-fpm php-cli',
  deployment: 'nginx, php-fpm',
  lacks: () => existsSync(`${PROGRAM}/doku.php`) ? lacksPhp() : PROGRAM,
  version: () => readFileSync(`${PROGRAM}/VERSION`, 'utf8').trim(),
  sentence: 'Lorem ipsum dolor sit amet, [[https://example.org/|a link]] and //more// text. ',
  async start (servers, text) {
    const home = path.join(servers.directory, 'dokuwiki')
    const [settings, data, preload] = [path.join(home, 'conf'), path.join(home, 'data'), path.join(home, 'preload.php')]
    const [port] = await freePorts(1)
    cpSync(SETTINGS, settings, { recursive: true, dereference: true })
    for (const directory of DATA) mkdirSync(path.join(data, directory), { recursive: true })
    writeFileSync(path.join(settings, 'local.php'), `<?php\n$conf['savedir'] = '${data}';\n$conf['useacl'] = 0;\n`)
    writeFileSync(path.join(data, 'pages/bench.txt'), text)
    // https://www.dokuwiki.org/devel:preload
    writeFileSync(preload, `<?php\ndefine('DOKU_CONF', '${settings}/');\ndefine('DOKU_MAIN_CONF', '${settings}/');\n`)
    const readyPath = '/doku.php?id=bench'
    const { url, pids } = await startPhp(servers, {
      name: 'dokuwiki',
      root: PROGRAM,
      home,
      port,
      readyPath,
      pool: [`php_admin_value[auto_prepend_file] = ${preload}`]
    })
    return { url, path: readyPath, pids }
  }
}
