// The chart, rendered by Helm and read as strictly as a cluster reads it. No cluster ran it.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { HELM_DIRECTORY } from '@stevec/harness/tools/catalog'
import { requireTool } from '@stevec/harness/tools/locate'
import { readConfig } from '@stevec/wiki-app/config'

const CHART = fileURLToPath(new URL('../../chart', import.meta.url))
/** An old one and a new one of those that the chart allows. */
const VERSIONS = ['1.27.0', '1.36.0']
const NEEDED = {
  images: {
    wiki: { repository: 'registry.example/wiki', tag: '1' }, edge: { repository: 'registry.example/edge', tag: '1' }
  },
  secret: { name: 'stevec' }
}

/** @param {string[]} args */
const helm = (...args) => promisify(execFile)(requireTool('helm').path, args)

/**
 * @param {object} [values]  added to those that the chart needs
 * @param {string} [version]  of Kubernetes
 */
async function render (values = {}, version = VERSIONS[0]) {
  const merged = { ...NEEDED, ...values }
  const sets = Object.entries(merged).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`])
  const { stdout } = await helm('template', 'wiki', CHART, '--namespace', 'pages', '--kube-version', version, ...sets)
  return stdout
}

/** @param {string} manifests @returns {Record<string, any>} `kind name` → manifest */
const byName = (manifests) => Object.fromEntries(parseAllDocuments(manifests, { merge: true })
  .map((document) => /** @type {any} */ (document).toJS()).filter(Boolean)
  .map((manifest) => [`${manifest.kind} ${manifest.metadata.name}`, manifest]))

/** Decodes manifests into the types of the Kubernetes API. @param {string} manifests */
async function decode (manifests) {
  const child = spawn('go', ['run', '-C', HELM_DIRECTORY, '.'], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(manifests)
  const [output, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr)])
  if (errors !== '') throw new Error(errors)
  return output.trim().split('\n')
}

const FULL = {
  wiki: {
    replicas: 3,
    settings: { CACHE_POLICY: 'ttl', MAIL_FROM: 'wiki@wiki.example', PUBLIC_URL: 'https://wiki.example' },
    picturesClaim: 'pictures',
    importsMib: 300,
    wordsMib: 64,
    resources: {}
  },
  edge: { enabled: true, replicas: 2, profile: 'rfc9111', cacheMib: 64, bodiesMib: 128, resources: {} },
  secret: {
    name: 'stevec', usersKey: 'users', pictureKeyIdKey: 's3-id', pictureSecretKey: 's3-secret', smtpUrlKey: 'smtp'
  },
  ingress: { enabled: true, host: 'wiki.example', className: 'nginx', tlsSecret: 'wiki-tls', annotations: { a: 'b' } },
  networkPolicy: {
    enabled: true,
    mongodbPort: 27017,
    redisPort: 6379,
    from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }]
  },
  imagePullSecrets: [{ name: 'registry' }]
}

test('Helm finds no fault in the chart', async () => {
  const values = path.join(CHART, 'example.yaml')
  const { stdout } = await helm('lint', '--strict', CHART, '--values', values, '--kube-version', VERSIONS[0])
  assert.match(stdout, /0 chart\(s\) failed/)
})

for (const version of VERSIONS) {
  test(`every manifest fits Kubernetes ${version}: no unknown field, with all options and with few`, async () => {
    const few = await decode(await render({}, version))
    assert.deepEqual(few.sort(), [
      'ConfigMap wiki-stevec-wiki', 'Deployment wiki-stevec-edge', 'Deployment wiki-stevec-wiki',
      'NetworkPolicy wiki-stevec-edge', 'NetworkPolicy wiki-stevec-wiki', 'PodDisruptionBudget wiki-stevec-wiki',
      'Service wiki-stevec-edge', 'Service wiki-stevec-wiki', 'ServiceAccount wiki-stevec'
    ])
    const all = await decode(await render(FULL, version))
    assert.deepEqual(all.filter((one) => !few.includes(one)).sort(),
      ['Ingress wiki-stevec', 'PodDisruptionBudget wiki-stevec-edge'])
    assert.deepEqual((await decode(await render({ edge: { enabled: false } }, version))).sort(),
      few.filter((one) => !one.includes('edge')))
  })
}

test('the decoder refuses a misspelt field', async () => {
  const manifests = await render()
  await assert.rejects(decode(manifests.replace('maxUnavailable', 'maxUnavailabel')), /unknown field.*maxUnavailabel/)
  await assert.rejects(decode(manifests.replace('containerPort: 3000', 'containerPort: http')), /containerPort|int32/)
})

test('a version changes without a pause, and a wiki has time to answer what is in flight', async () => {
  const { spec } = byName(await render())['Deployment wiki-stevec-wiki']
  assert.deepEqual(spec.strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 })
  const [{ readinessProbe, livenessProbe, lifecycle }] = spec.template.spec.containers
  assert.equal(readinessProbe.httpGet.path, '/readyz')
  assert.equal(livenessProbe.httpGet.path, '/healthz')
  const drainS = 13
  const pauseS = Number(lifecycle.preStop.exec.command.at(-1))
  assert.ok(spec.template.spec.terminationGracePeriodSeconds > pauseS + drainS)
  const noticeS = readinessProbe.periodSeconds * readinessProbe.failureThreshold
  assert.ok(pauseS >= noticeS)
})

test('every pod fits the Pod Security Standard "restricted", and has no token of the cluster', async () => {
  const pods = Object.values(byName(await render(FULL))).flatMap(({ spec }) => spec?.template?.spec ?? [])
  assert.equal(pods.length, 2)
  for (const { automountServiceAccountToken, securityContext, containers, volumes } of pods) {
    assert.equal(automountServiceAccountToken, false)
    assert.equal(securityContext.runAsNonRoot, true)
    assert.equal(securityContext.seccompProfile.type, 'RuntimeDefault')
    for (const { securityContext: own, resources, envFrom = [], env = [] } of containers) {
      assert.deepEqual(own, {
        allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] }
      })
      assert.ok(resources)
      assert.ok(!JSON.stringify([envFrom, env]).includes('secretKeyRef'))
    }
    for (const { emptyDir } of volumes) assert.ok(emptyDir === undefined || emptyDir.sizeLimit)
  }
})

test('the wiki takes the settings of the chart', async () => {
  const { data } = byName(await render())['ConfigMap wiki-stevec-wiki']
  const config = /** @type {Record<string, unknown>} */ (readConfig(data))
  for (const name of Object.keys(data)) assert.ok(name in config, name)
})

/** @param {any} template  of pods of the wiki @param {string} setting @param {string} file  its path in the mount */
function secretItem ({ spec }, setting, file) {
  const [{ env, volumeMounts }] = spec.containers
  const { value } = env.find((/** @type {any} */ { name }) => name === setting)
  const mount = volumeMounts.find((/** @type {any} */ { mountPath }) => value === `${mountPath}/${file}`)
  const { secret } = spec.volumes.find((/** @type {any} */ { name }) => name === mount.name)
  assert.equal(secret.defaultMode & 0o007, 0)
  return secret.items.find((/** @type {any} */ { path: item }) => item === file)
}

test('the address of the mail server is a file of the Secret', async () => {
  const { template } = byName(await render(FULL))['Deployment wiki-stevec-wiki'].spec
  assert.deepEqual(secretItem(template, 'SMTP_URL_FILE', 'smtp-url'), { key: 'smtp', path: 'smtp-url' })
  assert.doesNotMatch(await render(), /SMTP|smtp-url/)
})

test('with a users\' file its people alone write, and the file is for the wiki alone', async () => {
  const { template } = byName(await render(FULL))['Deployment wiki-stevec-wiki'].spec
  const [{ env }] = template.spec.containers
  assert.equal(env.find((/** @type {any} */ { name }) => name === 'ACCESS').value, 'users')
  assert.deepEqual(secretItem(template, 'USERS_FILE', 'users.json'), { key: 'users', path: 'users.json' })
  assert.doesNotMatch(await render(), /USERS_FILE/)
})

test('bodies of requests and the index of words are on disk, in folders with a limit', async () => {
  const manifests = byName(await render(FULL))
  for (const [part, name, size] of [['wiki', 'tmp', '300Mi'], ['wiki', 'words', '64Mi'], ['edge', 'run', '128Mi']]) {
    const { volumes } = manifests[`Deployment wiki-stevec-${part}`].spec.template.spec
    const { emptyDir } = volumes.find((/** @type {any} */ volume) => volume.name === name)
    assert.deepEqual(emptyDir, { sizeLimit: size }, part)
  }
})

test('only the edge and named sources reach a pod; wikis reach MongoDB, Redis, S3, mail and DNS alone', async () => {
  const manifests = byName(await render(FULL))
  const { spec: wiki } = manifests['NetworkPolicy wiki-stevec-wiki']
  assert.equal(wiki.ingress[0].from[0].podSelector.matchLabels['app.kubernetes.io/component'], 'edge')
  const allowed = wiki.egress.flatMap((/** @type {any} */ { ports }) => ports).map((/** @type {any} */ one) => one.port)
  assert.deepEqual(allowed, [53, 53, 27017, 6379, 443, 587])
  const { spec: edge } = manifests['NetworkPolicy wiki-stevec-edge']
  assert.deepEqual(edge.ingress[0].from, FULL.networkPolicy.from)
})

const REFUSED = /** @type {[string, object, RegExp][]} */ ([
  ['no image of the wiki', { images: { wiki: {}, edge: { repository: 'x' } } }, /images\/wiki.*\n.*repository/],
  ['no image of the edge, with an edge', { images: { wiki: { repository: 'x' }, edge: {} } }, /images\/edge/],
  ['the tag latest', { images: { wiki: { repository: 'x', tag: 'latest' }, edge: { repository: 'x' } } }, /wiki\/tag/],
  ['no Secret', { secret: { name: '' } }, /secret\/name/],
  ['no wiki', { wiki: { replicas: 0 } }, /wiki\/replicas.*minimum/],
  ['a number of replicas in words', { wiki: { replicas: 'two' } }, /wiki\/replicas.*got string, want integer/],
  ['a setting that is no text', { wiki: { settings: { CACHE_TTL_S: 60 } } }, /CACHE_TTL_S.*got number, want string/],
  ['the address of the database beside the Secret', { wiki: { settings: { MONGODB_URI: 'mongodb://u:p@h/d' } } },
    /wiki\/settings.*MONGODB_URI|MONGODB_URI/],
  [
    'the secret of an S3 store beside the Secret',
    { wiki: { settings: { PICTURE_S3_SECRET: 'x' } } },
    /PICTURE_S3_SECRET/
  ],
  ['half a key of an S3 store', { secret: { name: 'stevec', pictureKeyIdKey: 'id' } }, /pictureSecretKey/],
  ['a mail server beside the Secret', { wiki: { settings: { SMTP_URL: 'smtp://h' } } }, /SMTP_URL/],
  ['mail without its sender',
    { secret: { name: 'stevec', usersKey: 'u', smtpUrlKey: 'smtp' }, wiki: { settings: { PUBLIC_URL: 'http://w' } } },
    /MAIL_FROM/],
  ['mail without people', { ...FULL, secret: { name: 'stevec', smtpUrlKey: 'smtp' } }, /secret\/usersKey/],
  ['a sender without a mail server', { wiki: { settings: { MAIL_FROM: 'wiki@wiki.example' } } }, /wiki\/settings/],
  ['purges, whose token no Secret gives', { wiki: { settings: { PURGE_ZONE: 'zone' } } }, /PURGE_ZONE/],
  ['another profile', { edge: { enabled: true, profile: 'fastly' } }, /edge\/profile.*cloudflare/],
  ['a misspelt value', { netwrokPolicy: { enabled: false } }, /additional properties 'netwrokPolicy' not allowed/],
  ['an Ingress without a host', { ingress: { enabled: true } }, /ingress\/host/],
  ['a port beyond the last', { service: { port: 70000 } }, /service\/port.*maximum/]
])

for (const [what, values, message] of REFUSED) {
  test(`Helm refuses ${what}, and says where`, async () => {
    await assert.rejects(render(values), ({ stderr }) => message.test(stderr) || assert.fail(stderr))
  })
}

test('a digest wins over a tag', async () => {
  const digest = `sha256:${'0'.repeat(64)}`
  const image = { repository: 'registry.example/wiki', tag: '1', digest }
  const manifests = byName(await render({ images: { wiki: image, edge: image } }))
  const [{ image: used }] = manifests['Deployment wiki-stevec-wiki'].spec.template.spec.containers
  assert.equal(used, `registry.example/wiki@${digest}`)
})
