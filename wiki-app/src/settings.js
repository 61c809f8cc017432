import { isAbsolute } from 'node:path'
import { trustOf } from './access/client.js'
import { ACCESS_MODES, READ_ACCESSES } from './access/roles.js'
import { CACHE_SETTINGS } from './caching/settings.js'
import { STORAGE_NAMES } from './files/storage/storage.js'
import { MAIL_SETTINGS } from './mail/settings.js'
import { OIDC_SETTINGS } from './oidc/settings.js'
import { SAVING_SETTINGS } from './saving-settings.js'
import {
  APIS_MAX, areApiUrls, areHeaders, choice, integer, isHttpAddress, isMongodbUri, isOrigin, isThere, optional,
  pageName, share, text
} from './setting-readers.js'
import { parseRedisUrl } from './shared/address.js'
import { SHORT_LINK_READS } from './short-links/levels.js'
import { SHORT_LINK_INDEXES } from './short-links/model.js'
import { SITE_SETTINGS } from './site/settings.js'
import { SAMPLERS } from './tracing/samplers.js'
import { FAN_OUTS } from './watching/fan-out.js'

const MIB = 1_048_576
const LOG_LEVELS = /** @type {const} */ (['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])

/** Types, checks and the table in wiki-app/README.md (settings-table.js) come from here. */
export const SETTINGS = {
  HOST: text(isThere, {
    default: '127.0.0.1',
    allowed: 'an address or host name to listen on',
    does: 'the address to listen on; put nginx in front for other machines'
  }),
  PORT: integer(0, 65_535, {
    default: 3000,
    allowed: 'a whole number from 0 (any free port) to 65535',
    does: 'the port to listen on'
  }),
  WORKERS: integer(1, 64, {
    default: 1,
    allowed: 'a whole number of processes from 1 to 64',
    does: 'processes that serve requests, see below'
  }),
  MONGODB_URI: text(isMongodbUri, {
    default: 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec',
    allowed: 'mongodb://[user:password@]host[:port][,…]/database[?options]',
    shown: 'the stack\'s own',
    does: 'the database, a replica set if only of one node',
    secret: true
  }),
  MONGODB_URI_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the address of the database and nothing else',
    does: 'a file with it, instead: a secret of a container or of systemd'
  })),
  REDIS_URL: optional(text((uri) => parseRedisUrl(uri) !== null, {
    allowed: 'redis[s]://[[user]:password@]host[:port][/database] or ' +
      'redis[s]-sentinel://[[user]:password@]host[:port][,…][/database]#master',
    shown: 'no Redis',
    does: 'where several wikis count writes and failed sign-ins together, see below',
    secret: true
  })),
  REDIS_URL_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the address of Redis and nothing else',
    does: 'a file with it, instead'
  })),
  SHORT_LINK_INDEX: choice(SHORT_LINK_INDEXES, {
    default: 'id',
    does: 'how the database finds short addresses: `id`, `btree` or `hashed`, see below'
  }),
  SHORT_LINK_READS: choice(SHORT_LINK_READS, {
    default: 'database',
    does: 'where they are read from: `database`, or `redis`, which keeps copies in `REDIS_URL`'
  }),
  ...CACHE_SETTINGS,
  // As many as the driver gets in one response.
  PAGE_READS_AT_ONCE: integer(1, 100, {
    default: 100,
    allowed: 'a whole number from 1 (a read of the database for each page view) to 100',
    does: 'the most pages in one read of the database, for views that come together; the lab\'s profiles set it'
  }),
  DATABASE_POOL_MAX: integer(1, 1000, {
    default: 100,
    allowed: 'a whole number of connections from 1 to 1000',
    does: 'the most connections to each server of the database, besides a few that monitor it'
  }),
  ...SAVING_SETTINGS,
  ORIGIN_CACHE_MIB: integer(0, 16_384, {
    default: 0,
    allowed: 'a whole number of MiB from 0 (off) to 16384',
    does: 'memory for pages that are ready to be sent, each until it changes in the database'
  }),
  // HTML and Markdown share a MongoDB document of at most 16 MiB.
  PAGE_MAX_BYTES: integer(1, 3 * MIB, {
    default: MIB,
    allowed: 'a whole number of bytes from 1 to 3145728',
    does: 'the longest Markdown of a page'
  }),
  HOME_PAGE: pageName({
    default: 'Home',
    allowed: 'the name of a page: at most 200 characters, none that cannot be shown',
    does: 'the page at `/`; until it is written, an invitation to write it'
  }),
  ...SITE_SETTINGS,
  UPLOAD_MAX_BYTES: integer(1, 50 * MIB, {
    default: 5 * MIB,
    allowed: 'a whole number of bytes from 1 to 52428800',
    does: 'the largest file; above 7 MB raise nginx\'s `client_max_body_size`, too'
  }),
  UPLOADS_MAX_MIB: integer(0, 100_000_000, {
    default: 10_240,
    allowed: 'a whole number of MiB from 0 to 100000000',
    does: 'of all pictures and other files together; beyond it uploads are refused. 0: no limit'
  }),
  PICTURE_STORE: choice(STORAGE_NAMES, {
    default: 'database',
    does: 'where new pictures are stored: `database`, `disk` (`PICTURE_FOLDER`) or `s3` (`PICTURE_S3_…`), see below'
  }),
  PICTURE_FOLDER: optional(text((folder) => isAbsolute(folder), {
    allowed: 'the absolute path of a folder that is there, the same for all wikis of the database',
    does: 'the folder of `disk`; several wikis share it'
  })),
  PICTURE_SENDER: choice(['wiki', 'nginx'], {
    default: 'wiki',
    does: 'sends the files of `disk`: the wiki, or the nginx in front of it, which needs the same folder'
  }),
  PICTURE_S3_ENDPOINT: optional(text(isOrigin, {
    allowed: 'the address of the store without a path: https://s3.example',
    does: 'the store of `s3`'
  })),
  PICTURE_S3_BUCKET: optional(text((name) => /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(name), {
    allowed: 'the name of a bucket: 3 to 63 lower-case letters, digits, . and -',
    does: 'its bucket, of this wiki alone'
  })),
  PICTURE_S3_REGION: text((name) => /^[a-z0-9-]{1,40}$/.test(name), {
    default: 'us-east-1',
    allowed: 'the name of a region: lower-case letters, digits and -',
    does: 'its region'
  }),
  PICTURE_S3_KEY_ID: optional(text((key) => /^[\x21-\x7e]{1,200}$/.test(key), {
    allowed: 'the id of the key for the bucket, without blanks',
    does: 'the id of the key for it',
    secret: true
  })),
  PICTURE_S3_KEY_ID_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the id of the key and nothing else',
    does: 'a file with it, instead'
  })),
  PICTURE_S3_SECRET: optional(text((key) => /^[\x21-\x7e]{1,200}$/.test(key), {
    allowed: 'the secret of the key, without blanks',
    does: 'the secret of the key',
    secret: true
  })),
  PICTURE_S3_SECRET_FILE: optional(text(isThere, {
    allowed: 'the path of a file that holds the secret and nothing else',
    does: 'a file with it, instead'
  })),
  ACCESS: choice(ACCESS_MODES, {
    default: 'open',
    does: 'who writes: `open` everybody, `read-only` nobody, `users` the people that the wiki knows by name'
  }),
  READ_ACCESS: choice(READ_ACCESSES, {
    default: 'everyone',
    does: 'the readers: `everyone`, or with `ACCESS=users` `members`, see below'
  }),
  OFFLINE_READING: choice(['on', 'off'], {
    default: 'on',
    does: 'whether browsers keep pages that were read, for when the wiki cannot be reached, see below'
  }),
  USERS_FILE: optional(text(isThere, {
    allowed: 'the path of a file that wiki-app/bin/user.js has made; for ACCESS=users alone',
    does: 'people that are not kept in the database, see below; read at the start'
  })),
  WATCH_FAN_OUT: choice(FAN_OUTS, {
    default: 'on-read',
    does: 'with `ACCESS=users`, when a change reaches the lists of those that watch it: `on-read`. `in-request` and ' +
      '`on-queue` write an item for each of them, for the experiment `fan-out` ' +
      '([decision 63](../docs/decisions/0063-a-change-can-be-written-for-each-watcher.md))'
  }),
  // TLS may end in front of the wiki, so no request shows whether its client uses https.
  PUBLIC_URL: optional(text(isOrigin, {
    allowed: 'the address of the wiki as visitors see it, without a path: https://wiki.example',
    does: 'the wiki\'s address as visitors see it, for the links of feeds and mails; with `https://…` the session\'s ' +
      'cookie is for https alone'
  })),
  ...OIDC_SETTINGS,
  ...MAIL_SETTINGS,
  // For programs: a person saves a few times a minute.
  WRITES_PER_MINUTE: integer(0, 100_000, {
    default: 60,
    allowed: 'a whole number from 0 (no limit) to 100000',
    does: 'changes that one client may send within a minute, see below for imports; 0: no limit'
  }),
  SEARCH_DIRECTORY: optional(text(isThere, {
    allowed: 'the path of a folder that the wiki may write to',
    shown: 'a temporary folder',
    does: 'where the index of words is kept, see below. In a temporary folder it is built anew at each start'
  })),
  // With the default a page is served or refused within a second, even on a busy machine.
  QUEUE_WAIT_MAX_MS: integer(0, 60_000, {
    default: 500,
    allowed: 'a whole number of milliseconds from 0 (nobody is refused) to 60000',
    does: 'how long a request may wait for its turn before it is refused with 503. Page views, writes and ' +
      'costly reads (lists, histories, differences, searches, whole texts) wait apart, the last ten times as long. 0: ' +
      'no queue, and no refusal'
  }),
  // Any client can send that header, so only a local proxy is trusted.
  TRUSTED_PROXIES: text((proxies) => trustOf(proxies) !== null, {
    default: 'loopback',
    allowed: 'loopback, linklocal, uniquelocal, addresses or CIDR blocks with commas between, or none',
    does: 'whose `X-Forwarded-For` names the client: `loopback`, `linklocal`, `uniquelocal`, addresses, CIDR blocks, ' +
      'or `none`'
  }),
  PURGE_ZONE: optional(text((id) => /^[A-Za-z0-9_-]{1,64}$/.test(id), {
    allowed: 'the id of the zone of the CDN in front, letters, digits, - and _, or not set for no purges',
    does: 'the id of the CDN\'s zone; edits purge it, see below'
  })),
  PURGE_TOKEN: optional(text(isThere, { allowed: 'the token for it', does: 'its token', secret: true })),
  PURGE_TOKEN_FILE: optional(text(isThere, {
    allowed: 'the path of a file with the token for it, which its owner alone may read',
    does: 'a file of mode 600 with its token, instead'
  })),
  PURGE_URL: optional(text(areApiUrls, {
    allowed: 'the address of a purge API in the form of Cloudflare\'s, https, or http on this machine, or up to ' +
      `${APIS_MAX} different ones with commas between; not set: Cloudflare's own`,
    shown: 'Cloudflare\'s',
    does: 'another purge API of that form, or several with commas between, see below',
    secret: true
  })),
  PURGE_REPEAT_AFTER_S: integer(1, 3600, {
    default: 10,
    allowed: 'a whole number of seconds from 1 to 3600',
    does: 'the longest that a response may be in flight to the CDN: after it each purge is sent a second time; the ' +
      'lab sets 1'
  }),
  METRICS_PORT: optional(integer(1, 65_535, {
    allowed: 'a whole number from 1 to 65535, or not set for no metrics',
    shown: 'no metrics',
    does: 'where Prometheus finds `/metrics`'
  })),
  // Metrics reveal internals.
  METRICS_HOST: text(isThere, {
    default: '127.0.0.1',
    allowed: 'an address or host name for the metrics to listen on',
    does: 'the address of `METRICS_PORT`'
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: optional(text(isHttpAddress, {
    allowed: 'http[s]://host[:port][/path] of a collector of traces, without a query, or not set for no traces',
    shown: 'no traces',
    does: 'a collector that takes traces by OTLP/HTTP (JSON) at `/v1/traces` below this address, see below',
    secret: true
  })),
  OTEL_EXPORTER_OTLP_HEADERS: optional(text(areHeaders, {
    allowed: 'name=value, with commas between, of ASCII, commas in values percent-encoded',
    does: 'headers that the collector asks for, such as a key: `name=value`, with commas between',
    secret: true
  })),
  OTEL_SERVICE_NAME: text(isThere, {
    default: 'stevec-wiki',
    allowed: 'a name',
    does: 'the wiki\'s name in its traces'
  }),
  OTEL_TRACES_SAMPLER: choice(SAMPLERS, {
    default: 'parentbased_always_on',
    does: 'which requests are traced; with `parentbased_…` a request that has a `traceparent` decides itself'
  }),
  OTEL_TRACES_SAMPLER_ARG: share({
    default: 1,
    allowed: 'a number from 0 to 1',
    does: 'the share of them, for `traceidratio` and `parentbased_traceidratio`'
  }),
  STATUS_FILE: optional(text(isThere, {
    allowed: 'the path of a file',
    does: 'a file in which the process that watches the stack says what runs; `/status` shows it, see below'
  })),
  LOG_LEVEL: choice(LOG_LEVELS, {
    default: 'warn',
    does: '`info` logs requests, and page views as `LOG_VIEWS_PER_S` says'
  }),
  // A line takes a quarter of the time of a cached response.
  LOG_VIEWS_PER_S: integer(0, 1_000_000, {
    default: 10,
    allowed: 'a whole number of lines a second from 0 to 1000000',
    does: 'the most lines a second, in each process, for successful page views; 0: none'
  })
}

/** @typedef {keyof typeof SETTINGS} Setting */
/** @typedef {{[K in Setting]: ReturnType<(typeof SETTINGS)[K]['read']> | (typeof SETTINGS)[K]['default']}} Config */
