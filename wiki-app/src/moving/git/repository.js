import { mkdir, readdir, realpath } from 'node:fs/promises'
import { git, GitError, gitOrNull, RepositoryError } from './git.js'

/** The commits of an export, until all are there. */
export const EXPORT_REF = 'refs/stevec/export'

/** @typedef {{folder: string, branch: string, head: string | null, isBare: boolean}} Repository  `head`: hash */

/**
 * @param {string} folder  of a repository; not one within it
 * @returns {Promise<Repository>} @throws {RepositoryError}
 */
export async function openRepository (folder) {
  const real = await realpath(folder).catch(() => { throw new RepositoryError(`there is no folder ${folder}`) })
  const isBare = await git(real, ['rev-parse', '--is-bare-repository']).catch((error) => {
    if (!(error instanceof GitError)) throw error
    throw new RepositoryError(error.message.includes('dubious ownership')
      ? `${folder} belongs to another user: copy it (cp -R), and name the copy`
      : `${folder} is no git repository`)
  })
  const [branch, head] = [
    await gitOrNull(real, ['symbolic-ref', '--quiet', 'HEAD']), await gitOrNull(real, ['rev-parse', '--verify', 'HEAD'])
  ]
  return { folder: real, branch: branch ?? 'HEAD', head, isBare: isBare === 'true' }
}

/**
 * @param {string} folder  a repository, or an empty folder or none, which becomes one
 * @returns {Promise<Repository>} @throws {RepositoryError} also where files would be overwritten
 */
export async function prepareRepository (folder) {
  await mkdir(folder, { recursive: true })
  const isEmpty = (await readdir(folder)).length === 0
  if (isEmpty) await git(await realpath(folder), ['init', '--quiet', '--template=', '--initial-branch=main'])
  const repository = await openRepository(folder)
  if (repository.branch === 'HEAD') {
    throw new RepositoryError(`no branch is checked out in ${folder}: git checkout the one of the export first`)
  }
  const changed = repository.isBare ? '' : await git(repository.folder, ['status', '--porcelain'])
  if (changed !== '') {
    throw new RepositoryError(`${folder} has files that are not committed, which an export would overwrite: ` +
      'move them ' +
      'elsewhere, or name another folder')
  }
  return repository
}

/**
 * All of an export appears at once.
 * @param {Repository} repository
 */
export async function publish ({ folder, branch, head, isBare }) {
  const made = await git(folder, ['rev-parse', '--verify', EXPORT_REF])
  await git(folder, ['update-ref', '-m', 'stevec export', branch, made, head ?? '0'.repeat(made.length)])
  await git(folder, ['update-ref', '-d', EXPORT_REF])
  if (!isBare) await git(folder, ['reset', '--hard', '--quiet'])
}
