import { pageFiles } from './page-files.js'
import { pictureFiles } from './picture-files.js'

/**
 * The whole wiki: its pages, then its pictures.
 * @param {import('../pages/model.js').Models} models @param {import('../files/store.js').FileStore} pictures
 * @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * archiveOf (models, pictures) {
  yield * pageFiles(models)
  yield * pictureFiles(pictures)
}
