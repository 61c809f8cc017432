import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'
import { cachePolicy } from '../src/caching/cache-policy.js'
import { ConfigError, readConfig } from '../src/config.js'
import { isMailAddress, parseSmtpUrl } from '../src/mail/address.js'
import { settingsTable } from '../src/settings-table.js'

test('an environment without settings gives the defaults; other variables are ignored', () => {
  assert.deepEqual(readConfig({ PATH: '/bin', SECRET: 'x' }), {
    HOST: '127.0.0.1',
    PORT: 3000,
    WORKERS: 1,
    MONGODB_URI: 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec',
    SHORT_LINK_INDEX: 'id',
    SHORT_LINK_READS: 'database',
    WRITE_STRATEGY: 'sync',
    GROUP_COMMIT_MAX: 100,
    UNSAFE_RECORDS_MAX: 2_000,
    UNSAFE_MIB_MAX: 32,
    GROUP_COMMIT_WAIT_MS: 0,
    CACHE_POLICY: 'ttl',
    CACHE_TTL_S: 180,
    CACHE_STALE_WHILE_REVALIDATE_S: 60,
    CACHE_STALE_IF_ERROR_S: 0,
    CACHE_CDN_TTL_S: 86_400,
    CACHE_BOUND_MS: 500,
    CACHE_BEYOND_BOUND_S: 0,
    PURGE_REPEAT_AFTER_S: 10,
    PAGE_READS_AT_ONCE: 100,
    DATABASE_POOL_MAX: 100,
    ORIGIN_CACHE_MIB: 0,
    PAGE_MAX_BYTES: 1_048_576,
    HOME_PAGE: 'Home',
    WIKI_NAME: 'stevec',
    WIKI_LANGUAGE: 'en',
    UPLOAD_MAX_BYTES: 5_242_880,
    UPLOADS_MAX_MIB: 10_240,
    LOG_LEVEL: 'warn',
    LOG_VIEWS_PER_S: 10,
    ACCESS: 'open',
    READ_ACCESS: 'everyone',
    OFFLINE_READING: 'on',
    WATCH_FAN_OUT: 'on-read',
    OIDC_NEW_PEOPLE: 'none',
    WRITES_PER_MINUTE: 60,
    QUEUE_WAIT_MAX_MS: 500,
    TRUSTED_PROXIES: 'loopback',
    METRICS_HOST: '127.0.0.1',
    OTEL_SERVICE_NAME: 'stevec-wiki',
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_TRACES_SAMPLER_ARG: 1,
    PICTURE_STORE: 'database',
    PICTURE_SENDER: 'wiki',
    PICTURE_S3_REGION: 'us-east-1'
  })
})

test('a file holds the address of the database or of Redis, with its password', (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-config-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [database, redis] = ['database', 'redis'].map((name) => path.join(directory, name))
  writeFileSync(database, 'mongodb://wiki:secret@db:27017/stevec\n')
  writeFileSync(redis, 'redis://:secret@redis\n')
  const config = readConfig({ MONGODB_URI_FILE: database, REDIS_URL_FILE: redis })
  assert.equal(config.MONGODB_URI, 'mongodb://wiki:secret@db:27017/stevec')
  assert.equal(config.REDIS_URL, 'redis://:secret@redis')

  assert.throws(() => readConfig({ REDIS_URL: 'redis://here', REDIS_URL_FILE: redis }), {
    message: 'REDIS_URL and REDIS_URL_FILE are both set; unset one of them'
  })
  const missing = path.join(directory, 'none')
  assert.throws(() => readConfig({ MONGODB_URI_FILE: missing }), /none" cannot be read \(ENOENT\)$/)
  writeFileSync(database, 'http://wiki:secret@db')
  assert.throws(() => readConfig({ MONGODB_URI_FILE: database }), ({ message }) =>
    /^MONGODB_URI=\(not shown/.test(message) && !message.includes('secret'))
})

test('values at the limits are allowed', () => {
  const config = readConfig({ PORT: '0', CACHE_TTL_S: '31536000', PAGE_MAX_BYTES: '3145728', CACHE_POLICY: 'no-store' })
  assert.equal(config.PORT, 0)
  assert.equal(config.CACHE_TTL_S, 31_536_000)
  assert.equal(config.PAGE_MAX_BYTES, 3_145_728)
})

for (const [name, value] of [
  ['PORT', '65536'], ['PORT', '-1'], ['PORT', 'http'], ['PORT', ''], ['PORT', '80.5'],
  ['HOST', ''],
  ['DATABASE_POOL_MAX', '0'], ['DATABASE_POOL_MAX', '1001'],
  ['WORKERS', '0'], ['WORKERS', '65'], ['WORKERS', 'all'],
  ['SHORT_LINK_INDEX', 'heap'], ['SHORT_LINK_READS', 'memory'],
  ['CACHE_POLICY', 'forever'], ['CACHE_POLICY', 'toString'],
  ['CACHE_TTL_S', '-1'], ['CACHE_TTL_S', '31536001'], ['CACHE_TTL_S', '3m'],
  ['CACHE_BEYOND_BOUND_S', '-1'], ['CACHE_BEYOND_BOUND_S', '0.5'],
  ['PAGE_MAX_BYTES', '0'], ['PAGE_MAX_BYTES', '3145729'],
  ['UPLOAD_MAX_BYTES', '0'], ['UPLOAD_MAX_BYTES', '52428801'],
  ['UPLOADS_MAX_MIB', '-1'], ['UPLOADS_MAX_MIB', '100000001'],
  ['LOG_LEVEL', 'loud'],
  ['ACCESS', 'closed'], ['READ_ACCESS', 'nobody'], ['USERS_FILE', ''],
  ['PUBLIC_URL', ''], ['PUBLIC_URL', 'wiki.example'], ['PUBLIC_URL', 'ftp://wiki.example'],
  ['PUBLIC_URL', 'https://wiki.example/path'], ['PUBLIC_URL', 'https://me:hunter2@wiki.example'],
  ['PUBLIC_URL', 'https://wiki.example?x'],
  ['WRITES_PER_MINUTE', '-1'], ['WRITES_PER_MINUTE', '100001'], ['WRITES_PER_MINUTE', 'many'],
  ['QUEUE_WAIT_MAX_MS', '-1'], ['QUEUE_WAIT_MAX_MS', '60001'], ['QUEUE_WAIT_MAX_MS', 'long'],
  ['TRUSTED_PROXIES', ''], ['TRUSTED_PROXIES', 'everybody'], ['TRUSTED_PROXIES', '0.0.0.0/0'],
  ['TRUSTED_PROXIES', 'loopback,'], ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['PURGE_ZONE', ''], ['PURGE_ZONE', 'a zone'], ['PURGE_ZONE', '../user'], ['PURGE_TOKEN_FILE', ''],
  ['METRICS_PORT', '0'], ['METRICS_PORT', '65536'], ['METRICS_HOST', '']
]) {
  test(`${name}=${JSON.stringify(value)} is refused in one line that names it, its value and what is allowed`, () => {
    assert.throws(() => readConfig({ [name]: value }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.ok(error.message.startsWith(`${name}=${JSON.stringify(value)} is not allowed: it must be `), error.message)
      assert.ok(!error.message.includes('\n'))
      return true
    })
  })
}

test('an invalid REDIS_URL is refused without showing a password', () => {
  for (const url of ['', 'localhost', 'redis://:hunter2@a,b', 'redis-sentinel://:hunter2@a']) {
    assert.throws(() => readConfig({ REDIS_URL: url }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, /^REDIS_URL=\(not shown, it may hold a password\) is not allowed: it must be redis/)
      assert.ok(!error.message.includes('hunter2'))
      return true
    })
  }
})

test('READ_ACCESS=members takes ACCESS=users, and no setting of caches counts then, nor is one refused', () => {
  assert.throws(() => readConfig({ READ_ACCESS: 'members' }), {
    message: /^READ_ACCESS=members is not allowed with ACCESS=open: [^\n]+ set ACCESS=users, or READ_ACCESS=everyone$/
  })
  assert.throws(() => readConfig({ READ_ACCESS: 'members', ACCESS: 'read-only' }), /ACCESS=read-only/)
  for (const CACHE_POLICY of ['ttl', 'purge-tag', 'purge-url', 'bounded']) {
    const config = readConfig({
      ACCESS: 'users', READ_ACCESS: 'members', CACHE_POLICY, ORIGIN_CACHE_MIB: '16', PURGE_ZONE: 'zone'
    })
    assert.deepEqual([config.CACHE_POLICY, config.ORIGIN_CACHE_MIB, config.PURGE_ZONE], ['no-store', 0, undefined])
  }
})

test('READ_ACCESS=members reads from the primary alone, where a block counts at once', () => {
  const members = { ACCESS: 'users', READ_ACCESS: 'members' }
  for (const preference of ['readPreference=secondary', 'readpreference=primaryPreferred', 'readPreference=nearest']) {
    const MONGODB_URI = `mongodb://db:a-password@db/wiki?replicaSet=rs&${preference}&w=majority`
    assert.throws(() => readConfig({ ...members, MONGODB_URI }), {
      message: 'READ_ACCESS=members is not allowed with a readPreference in MONGODB_URI: another server than the ' +
        'primary may not know yet that somebody is blocked; take it out, or set READ_ACCESS=everyone'
    })
    assert.equal(readConfig({ MONGODB_URI }).MONGODB_URI, MONGODB_URI)
  }
  const MONGODB_URI = 'mongodb://db/wiki?readPreference=primary&replicaSet=rs'
  assert.equal(readConfig({ ...members, MONGODB_URI }).READ_ACCESS, 'members')
})

test('USERS_FILE without ACCESS=users is refused in one line; ACCESS=users needs no file', () => {
  assert.equal(readConfig({ ACCESS: 'users' }).USERS_FILE, undefined)
  assert.throws(() => readConfig({ USERS_FILE: 'users.json' }), {
    message: /^ACCESS=open is not allowed with USERS_FILE: [^\n]+$/
  })
  assert.equal(readConfig({ ACCESS: 'users', USERS_FILE: 'users.json' }).USERS_FILE, 'users.json')
})

test('mail requires a sender, people with names and the address of the wiki; each error says what to set', () => {
  const whole = {
    SMTP_URL: 'smtp://wiki:hunter2@mail.example',
    MAIL_FROM: 'wiki@wiki.example',
    ACCESS: 'users',
    USERS_FILE: 'users.json',
    PUBLIC_URL: 'https://wiki.example'
  }
  assert.equal(readConfig(whole).MAIL_FROM, 'wiki@wiki.example')
  for (const [settings, message] of /** @type {[Record<string, string | undefined>, RegExp][]} */ ([
    [{ SMTP_URL: undefined }, /^MAIL_FROM is not allowed without SMTP_URL.*: set SMTP_URL or SMTP_URL_FILE, or unset/],
    [{ MAIL_FROM: undefined }, /^SMTP_URL is not allowed without MAIL_FROM: set it to the mail address of the wiki/],
    [
      { ACCESS: undefined, USERS_FILE: undefined },
      /^SMTP_URL is not allowed with ACCESS=open,.*: set ACCESS=users, or unset SMTP_URL$/
    ],
    [{ PUBLIC_URL: undefined }, /^SMTP_URL is not allowed without PUBLIC_URL.*: set it to the address of the wiki/],
    [{ MAIL_FROM: 'Wiki <wiki@wiki.example>' }, /^MAIL_FROM="Wiki <wiki@wiki\.example>" is not allowed: it must be /],
    ...['', 'mail.example', 'http://hunter2', 'smtp://a:hunter2@', 'smtp://hunter2@mail.example',
      'smtp://a:%zzhunter2@b', 'smtp://mail.example:0', 'smtp://mail.example:65536',
      'smtps://a:hunter2@mail.example?tls.rejectUnauthorized=false'
    ].map((url) => [{ SMTP_URL: url }, /^SMTP_URL=\(not shown, .*\) is not allowed: it must be smtp/])
  ])) {
    assert.throws(() => readConfig({ ...whole, ...settings }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /hunter2|\n/)
      return true
    })
  }
})

test('a provider of sign-ins needs a client, people with names and the address of the wiki; no error shows the secret',
  (t) => {
    const directory = mkdtempSync(path.join(tmpdir(), 'stevec-config-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const file = path.join(directory, 'secret')
    writeFileSync(file, 'hunter2\n')
    const whole = {
      OIDC_ISSUER: 'https://login.example/realms/firm',
      OIDC_CLIENT_ID: 'wiki',
      OIDC_CLIENT_SECRET_FILE: file,
      ACCESS: 'users',
      PUBLIC_URL: 'https://wiki.example'
    }
    assert.equal(readConfig(whole).OIDC_CLIENT_SECRET, 'hunter2')
    assert.equal(readConfig({ ...whole, OIDC_ISSUER: 'http://localhost:8080' }).OIDC_ISSUER, 'http://localhost:8080')
    for (const [settings, message] of /** @type {[Record<string, string | undefined>, RegExp][]} */ ([
      [{ OIDC_CLIENT_SECRET_FILE: undefined }, /^OIDC_ISSUER is not allowed without OIDC_CLIENT_SECRET: set/],
      [{ PUBLIC_URL: undefined }, /^OIDC_ISSUER is not allowed without PUBLIC_URL: set/],
      [{ ACCESS: 'open' }, /^OIDC_ISSUER is not allowed with ACCESS=open.*: set ACCESS=users/],
      [{ OIDC_ISSUER: undefined }, /^OIDC_CLIENT_ID is not allowed without OIDC_ISSUER/],
      [{ OIDC_NEW_PEOPLE: 'admin' }, /must be one of none, reader, editor$/],
      [{ OIDC_LABEL: 'a\u202eb' }, /must be a name of 1 to 40/],
      [{ OIDC_CLIENT_SECRET_FILE: undefined, OIDC_CLIENT_SECRET: 'hunter2 ' }, /^OIDC_CLIENT_SECRET=\(not shown/],
      ...['http://login.example', 'https://login.example?x', 'https://a:hunter2@login.example', 'login.example',
        'ftp://login.example', 'http://localhost.evil.example', 'http://127.0.0.1.evil.example', 'https://'
      ].map((issuer) => /** @type {const} */ ([{ OIDC_ISSUER: issuer }, /^OIDC_ISSUER=.* is not allowed: it must be/]))
    ])) {
      assert.throws(() => readConfig({ ...whole, ...settings }), (error) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message.replace('a:hunter2@', ''), /hunter2|\n/)
        return true
      })
    }
    const others = { OIDC_CLIENT_ID: undefined, OIDC_CLIENT_SECRET_FILE: undefined, OIDC_ISSUER: undefined }
    assert.throws(() => readConfig({ ...whole, ...others, OIDC_NEW_PEOPLE: 'reader' }),
      /OIDC_NEW_PEOPLE is not allowed/)
  })

test('the address of a server for mail has a port, TLS and a login, each of its own form', () => {
  for (const [url, expected] of /** @type {const} */ ([
    ['smtp://127.0.0.1', { host: '127.0.0.1', port: 587, tls: false, login: null }],
    ['smtp://[::1]:25/', { host: '::1', port: 25, tls: false, login: null }],
    [
      'smtps://me%40here:a%3Ab%2F@mail.example',
      { host: 'mail.example', port: 465, tls: true, login: { user: 'me@here', pass: 'a:b/' } }
    ]
  ])) assert.deepEqual(parseSmtpUrl(url), expected)
})

test('a mail address is one address, and never a header or two addresses', () => {
  for (const address of ['a@b.example', 'a.b+c@sub.b.example', `${'a'.repeat(64)}@b.example`]) {
    assert.ok(isMailAddress(address), address)
  }
  for (const address of [
    '', 'a', 'a@', '@b.example', 'a@b', 'a@b..example', 'a@-b.example', 'a@b.example\n',
    'a@b.example\r\nBcc: c@d.example',
    'a@b.example,c@d.example', 'a@b.example c@d.example', '<a@b.example>', 'A <a@b.example>', 'a\u0000@b.example',
    '"a b"@b.example', 'ž@b.example', `a@${'b.'.repeat(126)}example`, `${'a'.repeat(65)}@b.example`
  ]) assert.ok(!isMailAddress(address), address)
})

test('copies of short addresses require a Redis', () => {
  assert.throws(
    () => readConfig({ SHORT_LINK_READS: 'redis' }), /SHORT_LINK_READS=redis is not allowed without REDIS_URL/)
})

test('purging requires PUBLIC_URL and an API token, whose file only its owner may read or change', (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'stevec-config-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'token')
  const zone = { PURGE_ZONE: 'zone', PUBLIC_URL: 'https://wiki.example' }
  writeFileSync(file, 'token-in-a-file\n', { mode: 0o600 })
  assert.equal(readConfig({ ...zone, PURGE_TOKEN_FILE: file }).PURGE_TOKEN, 'token-in-a-file')
  assert.equal(readConfig({ ...zone, PURGE_TOKEN: 'token-in-the-environment' }).PURGE_TOKEN, 'token-in-the-environment')
  assert.equal(readConfig({ PUBLIC_URL: 'https://wiki.example' }).PURGE_ZONE, undefined)
  for (const [settings, message] of /** @type {[Record<string, string>, RegExp][]} */ ([
    [{ PURGE_ZONE: 'zone', PURGE_TOKEN: 'token-in-the-environment' }, /^PURGE_ZONE is not allowed without PUBLIC_URL/],
    [
      { CACHE_POLICY: 'purge-url' },
      /^CACHE_POLICY=purge-url is not allowed without PURGE_ZONE, PUBLIC_URL and PURGE_TOKEN or PURGE_TOKEN_FILE: .* for 86400 s/
    ],
    [
      { CACHE_POLICY: 'purge-tag', PUBLIC_URL: 'https://wiki.example' },
      /^CACHE_POLICY=purge-tag is not allowed without PURGE_ZONE/
    ],
    [{ CACHE_POLICY: 'purge-tag', ...zone }, /^no API token:/],
    [zone, /^no API token: set PURGE_TOKEN, or PURGE_TOKEN_FILE/],
    [{ ...zone, PURGE_TOKEN_FILE: path.join(directory, 'none') }, /cannot be read: ENOENT/],
    [{ ...zone, PURGE_TOKEN: 'hunter2 hunter2' }, /^PURGE_TOKEN does not hold an API token/],
    [
      { ...zone, PURGE_TOKEN: 'token-in-the-environment', PURGE_URL: 'https://me:hunter2@host' },
      /^PURGE_URL=\(not shown/
    ],
    [{ ...zone, PURGE_TOKEN: 'token-in-the-environment', PURGE_URL: 'http://cdn.example' }, /^PURGE_URL=\(not shown/],
    [
      { ...zone, PURGE_TOKEN: 'token-in-the-environment', PURGE_URL: 'https://one.example,https://one.example/' },
      /^PURGE_URL=\(not shown.*different ones/
    ]
  ])) {
    assert.throws(() => readConfig(settings), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      assert.doesNotMatch(error.message, /hunter2|\n/)
      return true
    })
  }
  for (const mode of [0o640, 0o604, 0o620, 0o602]) {
    chmodSync(file, mode)
    assert.throws(() => readConfig({ ...zone, PURGE_TOKEN_FILE: file }), {
      message: /may be read or changed by others than its owner; chmod 600/
    })
  }
})

test('TRUSTED_PROXIES accepts none, loopback, addresses and CIDR blocks', () => {
  for (const proxies of ['none', 'loopback', 'loopback, 10.0.0.0/8,2001:db8::/32', '192.0.2.1']) {
    assert.equal(readConfig({ TRUSTED_PROXIES: proxies }).TRUSTED_PROXIES, proxies)
  }
})

test('HOME_PAGE is the name of a page, in its canonical form', () => {
  assert.equal(readConfig({}).HOME_PAGE, 'Home')
  assert.equal(readConfig({ HOME_PAGE: ' Začetek  / tu ' }).HOME_PAGE, 'Začetek/tu')
  for (const name of ['', 'a//b', '..', 'stevec', 'a\u202Eb', 'x'.repeat(201)]) {
    assert.throws(() => readConfig({ HOME_PAGE: name }), /HOME_PAGE=.* is not allowed: it must be the name of a page/,
      name)
  }
})

test('the README has the table of all settings', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  assert.ok(readme.includes(`\n${settingsTable()}\n\n`), 'run `node wiki-app/bin/settings.js --write`')
})

test('one error names all invalid settings', () => {
  assert.throws(() => readConfig({ PORT: 'x', LOG_LEVEL: 'y' }), /PORT="x".*LOG_LEVEL="y"/)
})

for (const uri of [
  '', 'postgres://me:hunter2@host/db', 'mongodb://me:hunter2', 'mongodb://me:hunt@er2@host/db',
  'mongodb://me:hunter2@host/db?nonsense=1', 'mongodb://me:hunter2@host/db?w='
]) {
  test(`the invalid MONGODB_URI ${JSON.stringify(uri)} is refused without showing a password`, () => {
    assert.throws(() => readConfig({ MONGODB_URI: uri }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(
        error.message,
        /^MONGODB_URI=\(not shown, it may hold a password\) is not allowed: it must be mongodb:\/\//
      )
      assert.ok(!error.message.includes('hunt'))
      return true
    })
  })
}

test('each cache policy has its headers, its maximum staleness and the way it purges', () => {
  const ofNone = { staleIfErrorS: 0, beyondBoundS: 0 }
  const lifetimes = { ttlS: 60, staleWhileRevalidateS: 30, cdnTtlS: 3600, boundMs: 250, ...ofNone }
  const lists = { listControl: 'public, no-cache', purgedBy: null }
  const asksEachTime = { 'cache-control': 'public, no-cache' }
  const ofNobody = { 'cache-control': 'private, no-store' }
  const expected = {
    ttl: { ...lists, headers: { 'cache-control': 'public, max-age=60' }, staleS: 60, unpurgedStaleS: 60 },
    'ttl-swr': {
      ...lists,
      headers: { 'cache-control': 'public, max-age=60, stale-while-revalidate=30' },
      staleS: 90,
      unpurgedStaleS: 90
    },
    revalidate: { ...lists, headers: asksEachTime, staleS: 0, unpurgedStaleS: 0 },
    'no-store': { headers: ofNobody, listControl: 'private, no-store', staleS: 0, unpurgedStaleS: 0, purgedBy: null }
  }
  for (const [name, policy] of Object.entries(expected)) {
    assert.deepEqual(cachePolicy(/** @type {keyof typeof expected} */ (name), lifetimes), policy)
  }
  for (const [name, purgedBy] of /** @type {const} */ ([['purge-url', 'urls'], ['purge-tag', 'tags']])) {
    const headers = { ...asksEachTime, 'cdn-cache-control': 'max-age=3600' }
    assert.deepEqual(cachePolicy(name, lifetimes), { ...lists, headers, staleS: 0, unpurgedStaleS: 3600, purgedBy })
  }
  assert.deepEqual(cachePolicy('bounded', lifetimes), {
    ...lists,
    headers: { ...asksEachTime, 'stevec-cache-control': 'max-age=3600' },
    staleS: 0.25,
    unpurgedStaleS: 0.25,
    purgedBy: 'tags',
    boundMs: 250,
    beyondBoundS: 0
  })
})

test('CACHE_BEYOND_BOUND_S is a lifetime for shared caches alone, beside that of caches that follow the log', () => {
  const lifetimes = { ttlS: 60, staleWhileRevalidateS: 30, staleIfErrorS: 0, cdnTtlS: 3600, boundMs: 250 }
  const { headers, staleS } = cachePolicy('bounded', { ...lifetimes, beyondBoundS: 5 })
  assert.deepEqual(headers, {
    'cache-control': 'public, max-age=0, s-maxage=5, must-revalidate', 'stevec-cache-control': 'max-age=3600'
  })
  assert.equal(staleS, 5.25)
})

test('CACHE_STALE_IF_ERROR_S adds stale-if-error to cacheable policies, not to no-store', () => {
  const others = { ttlS: 60, staleWhileRevalidateS: 30, cdnTtlS: 3600, boundMs: 250, beyondBoundS: 0 }
  const lifetimes = { ...others, staleIfErrorS: 600 }
  assert.equal(cachePolicy('ttl', lifetimes).headers['cache-control'], 'public, max-age=60, stale-if-error=600')
  assert.equal(cachePolicy('purge-url', lifetimes).headers['cdn-cache-control'], 'max-age=3600, stale-if-error=600')
  assert.equal(cachePolicy('no-store', lifetimes).headers['cache-control'], 'private, no-store')
})

for (const [what, settings, message] of /** @type {[string, Record<string, string>, RegExp][]} */ ([
  ['saves that are stored later', { WRITE_STRATEGY: 'unsafe-async' }, /choose sync or group-commit$/],
  ['a cache in the wiki', { ORIGIN_CACHE_MIB: '8' }, /does not follow the purge log; set it to 0$/],
  ['reads from other servers', { MONGODB_URI: 'mongodb://db/wiki?replicaSet=rs&readPreference=nearest' },
    /another server than the primary may have older texts$/]
])) {
  test(`a bound on staleness is refused with ${what}`, () => {
    assert.throws(() => readConfig({ CACHE_POLICY: 'bounded', ...settings }), (error) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      return true
    })
  })
}

test('a bound on staleness goes with the primary named, and with each durable way to save', () => {
  const primary = 'mongodb://db/wiki?readPreference=primary&replicaSet=rs'
  assert.equal(readConfig({ CACHE_POLICY: 'bounded', MONGODB_URI: primary }).CACHE_BOUND_MS, 500)
  assert.equal(readConfig({ CACHE_POLICY: 'bounded', WRITE_STRATEGY: 'group-commit' }).CACHE_POLICY, 'bounded')
})
