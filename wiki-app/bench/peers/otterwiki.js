import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { freePorts } from '@stevec/harness/ports'

/**
 * An Otter Wiki in a virtual environment, with its own git repository.
 * @param {string} python  of that environment
 * @returns {import('./peer.js').Peer}
 */
export const otterwiki = (python) => ({
  name: 'An Otter Wiki',
  install: 'python3 -m venv /tmp/otterwiki && /tmp/otterwiki/bin/pip install otterwiki gunicorn, ' +
    'then --otterwiki /tmp/otterwiki/bin/python',
  deployment: 'gunicorn, a worker for each core',
  lacks: () =>
    spawnSync(python, ['-c', 'import gunicorn, importlib.metadata as m; m.version("otterwiki")']).status === 0
      ? null
      : `otterwiki and gunicorn in ${python}`,
  version: () => execFileSync(
    python,
    ['-c', 'import importlib.metadata as m; print(m.version("otterwiki"))'],
    { encoding: 'utf8' }
  ).trim(),
  sentence: 'Lorem ipsum dolor sit amet, [a link](https://example.org/) and *more* text. ',
  async start (servers, text) {
    const home = path.join(servers.directory, 'otterwiki')
    const repository = path.join(home, 'repository')
    mkdirSync(repository, { recursive: true })
    writeFileSync(path.join(repository, 'bench.md'), text)
    const git = (/** @type {string[]} */ ...args) => execFileSync(
      'git',
      ['-C', repository, '-c', 'user.name=bench', '-c', 'user.email=bench@localhost', ...args],
      { stdio: 'ignore' }
    )
    git('init')
    git('add', '.')
    git('commit', '-m', 'a page')
    const [port] = await freePorts(1)
    // --preload loads the wiki before the workers start: else two would create its tables, and the second would fail.
    const { url, pid } = await servers.start({
      name: 'otterwiki',
      command: python,
      args: [
        '-m', 'gunicorn',
        '--bind', `127.0.0.1:${port}`,
        '--workers', String(availableParallelism()),
        '--preload',
        'otterwiki.server:app'
      ],
      env: {
        REPOSITORY: repository,
        SQLALCHEMY_DATABASE_URI: `sqlite:///${path.join(home, 'db.sqlite')}`,
        SECRET_KEY: randomBytes(16).toString('hex')
      },
      url: `http://127.0.0.1:${port}`,
      readyPath: '/Bench'
    })
    return { url, path: '/Bench', pids: [pid] }
  }
})
