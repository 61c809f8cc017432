import { createDatabaseStorage } from './database.js'
import { createDiskStorage } from './disk.js'

/** @import {Config} from '../../settings.js' */
/** @import {StoredFile} from '../model.js' */
/** @import {S3Options} from './s3-client.js' */
/** @import {Key, Storage, StorageName} from './storage.js' */

/**
 * @typedef {Pick<Config, 'PICTURE_STORE' | 'PICTURE_FOLDER' | 'PICTURE_SENDER' | 'PICTURE_S3_ENDPOINT' |
 *   'PICTURE_S3_BUCKET' | 'PICTURE_S3_REGION' | 'PICTURE_S3_KEY_ID' | 'PICTURE_S3_SECRET'>} PictureSettings
 * @typedef {typeof import('./s3.js').createS3Storage} CreateS3
 *
 * @typedef {object} Storages
 * @property {Storage[]} all  that there are settings for
 * @property {Storage} fresh  of new pictures
 * @property {(name: StorageName) => Storage} get  throws where there are no settings for it
 */

/** @param {PictureSettings} settings @returns {Promise<CreateS3 | undefined>} most wikis never need it */
export const loadS3 = async ({ PICTURE_S3_BUCKET: bucket }) =>
  bucket === undefined ? undefined : (await import('./s3.js')).createS3Storage

/**
 * New pictures go where PICTURE_STORE says; the others are read where they are.
 * @param {PictureSettings} settings  complete, see config.js
 * @param {{chunks: Parameters<typeof createDatabaseStorage>[0], createS3?: CreateS3, isApart?: boolean}} parts
 *   `isApart`: of private spaces
 * @returns {Storages}
 */
export function createStorages (settings, { chunks, createS3, isApart = false }) {
  const all = [createDatabaseStorage(chunks, isApart), ...createOutside(settings, createS3, isApart)]
  const get = (/** @type {StorageName} */ name) => {
    const found = all.find((storage) => storage.name === name)
    if (found === undefined) throw new Error(`a picture is stored in ${name}, and there are no settings for that`)
    return found
  }
  return { all, fresh: get(settings.PICTURE_STORE), get }
}

/**
 * @param {PictureSettings} settings @param {CreateS3 | undefined} createS3 @param {boolean} isApart
 * @returns {Storage[]} those outside the database
 */
export function createOutside (settings, createS3, isApart) {
  const { PICTURE_FOLDER: folder, PICTURE_SENDER: sender } = settings
  return [
    ...folder === undefined ? [] : [createDiskStorage({ folder, byNginx: sender === 'nginx', isApart })],
    ...createS3 === undefined ? [] : [createS3(s3OptionsOf(settings), isApart)]
  ]
}

/** @param {PictureSettings} settings @returns {S3Options} */
function s3OptionsOf (settings) {
  const [endpoint, bucket, region, keyId, secret] = [
    settings.PICTURE_S3_ENDPOINT, settings.PICTURE_S3_BUCKET, settings.PICTURE_S3_REGION, settings.PICTURE_S3_KEY_ID,
    settings.PICTURE_S3_SECRET
  ].map(String)
  return { endpoint, bucket, region, keyId, secret }
}

/** @param {StoredFile} file @returns {StorageName} */
export const storageNameOf = ({ metadata: { place } }) => place?.store ?? 'database'

/** @param {StoredFile} file @returns {Key} */
export const keyOf = ({ _id, filename, metadata: { place } }) => ({ id: place?.id ?? _id, name: filename })
