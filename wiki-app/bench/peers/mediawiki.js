import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { randomBytes } from 'node:crypto'
import { freePorts } from '@stevec/harness/ports'
import { lacksPhp, php, startPhp } from './php.js'

const PROGRAM = '/usr/share/mediawiki'

/**
 * MediaWiki from Debian's package, with its own SQLite database and its objects cached in APCu, as its installer
 * proposes.
 * @type {import('./peer.js').Peer}
 */
export const mediawiki = {
  name: 'MediaWiki',
  install: 'apt-get install --no-install-recommends mediawiki php-fpm php-cli php-sqlite3 php-apcu',
  deployment: 'nginx, php-fpm, SQLite, APCu',
  lacks: () => existsSync(`${PROGRAM}/maintenance/install.php`) ? lacksPhp() : PROGRAM,
  version: () => /define\( 'MW_VERSION', '([^']+)'/
    .exec(readFileSync(`${PROGRAM}/includes/Defines.php`, 'utf8'))?.[1] ?? 'unknown',
  sentence: "Lorem ipsum dolor sit amet, [https://example.org/ a link] and ''more'' text. ",
  async start (servers, text) {
    const home = path.join(servers.directory, 'mediawiki')
    const [port] = await freePorts(1)
    mkdirSync(path.join(home, 'data'), { recursive: true })
    // https://www.mediawiki.org/wiki/Manual:Install.php
    php([
      `${PROGRAM}/maintenance/install.php`,
      '--dbtype', 'sqlite',
      '--dbpath', path.join(home, 'data'),
      '--confpath', home,
      '--scriptpath', '',
      '--server', `http://127.0.0.1:${port}`,
      '--pass', randomBytes(16).toString('hex'),
      'Bench',
      'Admin'
    ])
    const settings = path.join(home, 'LocalSettings.php')
    appendFileSync(settings, '\n$wgMainCacheType = CACHE_ACCEL;\n')
    php(
      [`${PROGRAM}/maintenance/edit.php`, '--conf', settings, '--user', 'Admin', 'Bench'],
      text,
      { MW_CONFIG_FILE: settings }
    )
    const readyPath = '/index.php/Bench'
    const { url, pids } = await startPhp(servers, {
      name: 'mediawiki',
      root: PROGRAM,
      home,
      port,
      readyPath,
      pool: [`env[MW_CONFIG_FILE] = ${settings}`]
    })
    return { url, path: readyPath, pids }
  }
}
