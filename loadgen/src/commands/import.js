import { statSync } from 'node:fs'
import { requireTool } from '@stevec/harness/tools/locate'
import { readConfig as readWikiConfig } from '@stevec/wiki-app/config'
import { KINDS } from '@stevec/wiki-app/moving/kinds'
import { isAllTaken, summaryOf } from '@stevec/wiki-app/moving/report'
import { runImport } from '@stevec/wiki-app/moving/run-import'
import { EXIT } from '../exit-codes.js'
import { didYouMean } from '../nearest.js'
import { UsageError } from '../usage-error.js'
import { progressLine, wikiUri } from './backup-terminal.js'
import { configWith, interruptSignal, refuseMore } from './options.js'

/** @import {Choice} from '@stevec/wiki-app/moving/kinds' */

const ON_CONFLICT = /** @type {const} */ (['keep', 'replace', 'fail'])
const KIND_LINES = Object.entries(KINDS).map(([name, { does }]) => `  ${name.padEnd(10)} ${does}`).join('\n')

const KEPT = 'kept pages have newer revisions in the other wiki: --on-conflict replace puts its newest text on top ' +
  'of what is here; one that is a redirect there has to be renamed here first\n'

/** Options that only some kinds have. @type {Record<string, Choice | 'redirects'>} */
const CHOICES = {
  namespaces: 'namespaces',
  pictures: 'pictures',
  'include-files': 'includeFiles',
  redirects: 'redirects',
  'old-path': 'redirects'
}

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'move another wiki in, with its history',
  help: `Usage: stevec import KIND FILE [options]

Puts the pages of another wiki into this wiki's database: every revision with its date, author and
summary, redirects, and pictures. This wiki may run meanwhile; it shows each page when it is in.
Run again after an interruption, or with a newer FILE: what is in already stays as it is.

KIND:
${KIND_LINES}

  --uri URI           the database (default MONGODB_URI, then the wiki of \`stevec up\`)
  --dry-run           writes nothing, and says what would be done
  --on-conflict WHAT  with a page that was written or changed here: keep it (default), replace (the
                      moved text becomes its newest revision), or fail (it counts as not taken)
  --report FILE       a line of JSON for each page: source, name, result, revisions, problem

of mediawiki:
  --pictures FOLDER   pictures beside the dump: MediaWiki's folder images
  --include-files     pictures that are in the dump itself
  --namespaces LIST   to take, with commas between: names, numbers, main, all (default main)
  --redirects FILE    a map for nginx, which leads from the old addresses to the new ones
  --old-path PATH     where pages were: /wiki/ (default), /, /index.php/

mediawiki and dokuwiki need pandoc (stevec setup --with pandoc), git needs git.
Give it the wiki's settings, too, if it has any of PICTURE_…, CACHE_POLICY, PURGE_…, PUBLIC_URL,
PAGE_MAX_BYTES: a CDN then drops what has changed.

Exit code: 0 all taken, 1 something was not taken, a page was not renamed as there, or one was kept
of which the other wiki has newer revisions (the report says why), 130 interrupted.

Examples:
  stevec import mediawiki dump.xml.gz --dry-run
  stevec import mediawiki dump.xml.gz --pictures images --report report.jsonl
  stevec import mediawiki newer.xml.gz --uri 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec'
  stevec import mediawiki dump.xml --namespaces main,Help --redirects old-addresses.conf
  bzcat dump.xml.bz2 | stevec import mediawiki /dev/stdin
  stevec import dokuwiki /srv/dokuwiki/data
  stevec import git moved`,
  options: {
    uri: { type: 'string' },
    'dry-run': { type: 'boolean' },
    'on-conflict': { type: 'string' },
    pictures: { type: 'string' },
    'include-files': { type: 'boolean' },
    namespaces: { type: 'string' },
    report: { type: 'string' },
    redirects: { type: 'string' },
    'old-path': { type: 'string' }
  },
  async run ({ values, positionals }) {
    refuseMore(positionals, 2)
    const { kind, file } = sourceOf(positionals)
    refuseForeign(values, kind)
    const options = optionsOf(values)
    const config = configWith(values)
    const { dryRun } = options
    const progress = progressLine()
    const { totals, problems } = await runImport({
      config: readWikiConfig({ ...config.importEnvironment, MONGODB_URI: wikiUri(values.uri, config) }),
      kind,
      file,
      ...options,
      pandoc: KINDS[kind].from && requireTool('pandoc').path,
      signal: interruptSignal(),
      onProgress: (soFar, { done, total }) =>
        progress.say(`${total > 0 ? `${Math.floor(100 * done / total)} % read, ` : ''}${summaryOf(soFar, dryRun)}`)
    }).finally(progress.end)
    process.stdout.write(`${summaryOf(totals, dryRun)}\n`)
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    if (isAllTaken(totals)) return EXIT.good
    if (totals.missing > 0) process.stderr.write(KEPT)
    if (options.report === undefined) process.stderr.write('--report FILE says what was not taken, and why\n')
    return EXIT.violated
  }
}

/** @param {string[]} positionals @throws {UsageError} */
function sourceOf ([kind, file]) {
  const kinds = Object.keys(KINDS)
  if (kind === undefined) throw new UsageError(`KIND is missing: ${kinds.join(', ')}`)
  if (!Object.hasOwn(KINDS, kind)) {
    throw new UsageError(`there is no kind "${kind}"${didYouMean(kind, kinds) || `; there is: ${kinds.join(', ')}`}`)
  }
  const { does, isFolder = false } = KINDS[kind]
  if (file === undefined) throw new UsageError(`FILE is missing: ${does}`)
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new UsageError(`there is no ${isFolder ? 'folder' : 'file'} ${file}`)
  if (found.isDirectory() !== isFolder) {
    throw new UsageError(`${file} is ${isFolder ? 'no' : 'a'} folder; ${kind} takes ${does}`)
  }
  return { kind, file }
}

/**
 * @param {Record<string, any>} values @param {string} kind
 * @throws {UsageError} for options that this kind has no use for
 */
function refuseForeign (values, kind) {
  const { choices = [], hasOldAddresses = false } = KINDS[kind]
  for (const name of Object.keys(values)) {
    const choice = CHOICES[name]
    if (choice === undefined || (choice === 'redirects' ? hasOldAddresses : choices.includes(choice))) continue
    throw new UsageError(`--${name} is not for ${kind}; leave it out`)
  }
}

/** @param {Record<string, any>} values @throws {UsageError} */
function optionsOf (values) {
  const onConflict = ON_CONFLICT.find((each) => each === (values['on-conflict'] ?? 'keep'))
  if (onConflict === undefined) throw new UsageError(`--on-conflict must be one of ${ON_CONFLICT.join(', ')}`)
  const oldPath = values['old-path'] ?? '/wiki/'
  if (!/^\/(?:[\w.-]+\/)*$/.test(oldPath)) throw new UsageError('--old-path must begin and end with a slash: /wiki/')
  if (values['old-path'] !== undefined && values.redirects === undefined) {
    throw new UsageError('--old-path belongs to --redirects FILE')
  }
  if (values.pictures !== undefined && !statSync(values.pictures, { throwIfNoEntry: false })?.isDirectory()) {
    throw new UsageError(`there is no folder ${values.pictures}`)
  }
  return {
    onConflict,
    dryRun: values['dry-run'] ?? false,
    report: values.report,
    redirects: values.redirects === undefined ? undefined : { file: values.redirects, oldPath },
    reading: {
      namespaces: values.namespaces?.split(','),
      pictures: values.pictures,
      includeFiles: values['include-files'] ?? false
    }
  }
}
