import { pageFiles } from './page-files.js'
import { pictureFiles } from './picture-files.js'

/**
 * The whole wiki, or a private space: its pages, then its pictures and files.
 * @param {import('../pages/model.js').Models} models @param {import('../files/store.js').FileStore} pictures
 * @param {import('./page-files.js').Range[]} [ranges]  of names; all pages without
 * @returns {AsyncGenerator<import('./zip.js').ZipItem>}
 */
export async function * archiveOf (models, pictures, ranges) {
  yield * pageFiles(models, ranges)
  yield * pictureFiles(pictures)
}
