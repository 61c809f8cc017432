import { openOutside } from '@stevec/wiki-app/backup/pictures'
import { exportGit } from '@stevec/wiki-app/moving/git/export'
import { countOf } from '../count-of.js'
import { UsageError } from '../usage-error.js'
import { progressLine, wikiUri } from './backup-terminal.js'
import { configWith, interruptSignal, refuseMore } from './options.js'

const KINDS = ['git']

/** @type {import('../cli.js').Command} */
export const command = {
  summary: 'write a wiki with its history into a git repository',
  help: `Usage: stevec export git FOLDER [options]

Writes the wiki, as it is at one moment, into the git repository in FOLDER: a commit for each
revision, with its author, date and summary, a Markdown file for each page, and the pictures. FOLDER
is a repository (bare, too), or it is empty or new. The wiki keeps running meanwhile. Exporting
again appends what is new. Accounts, sessions and what people watch are not in it. It needs git.
Pictures outside the database need the wiki's settings PICTURE_FOLDER or PICTURE_S3_….

  --uri URI    the database (default MONGODB_URI, then the wiki of \`stevec up\`)
  --replace    starts over; what the branch had is no longer on it, as after a forced push

Examples:
  stevec export git moved
  stevec export git moved --uri 'mongodb://127.0.0.1:27027/stevec?replicaSet=stevec'
  git -C moved log --follow -- Hello.md`,
  options: { uri: { type: 'string' }, replace: { type: 'boolean' } },
  async run ({ values, positionals, signal = interruptSignal() }) {
    refuseMore(positionals, 2)
    const [kind, folder] = positionals
    if (!KINDS.includes(kind)) throw new UsageError(`say what to export to, ${KINDS.join(' or ')}, before FOLDER`)
    if (!folder) throw new UsageError('FOLDER is missing, for example: stevec export git moved')
    const config = configWith(values)
    const progress = progressLine()
    const { revisions, pictures, names } = await exportGit({
      uri: wikiUri(values.uri, config),
      folder,
      replace: values.replace ?? false,
      outside: await openOutside(config.pictureEnvironment),
      signal,
      onProgress: progress.show
    }).finally(progress.end)
    process.stdout.write(revisions + pictures + names === 0
      ? `${folder} has everything already\n`
      : `exported to ${folder}: ${countOf(revisions, 'revision')}, ${countOf(pictures, 'picture')}\n`)
    return 0
  }
}
