/** Also other files, whose names have a part of their own. */
const PICTURE = '([0-9a-f]{32}(?:\\.\\w{3,4}|/[\\w.%~-]{1,600}))(?=[\\s)>"\']|$)'
const BEFORE = '(\\]\\(<?|\\]: *<?)'
const IN_WIKI = new RegExp(`${BEFORE}/files/${PICTURE}`, 'gm')
const IN_FOLDER = new RegExp(`${BEFORE}((?:\\.\\./)*)files/${PICTURE}`, 'gm')

/**
 * A forge shows pictures whose links are relative to the file.
 * @param {string} content  Markdown of the wiki @param {string} path  of its file
 * @returns {string | null} null: the links could not be read back, so they stay
 */
export function withRelativePictures (content, path) {
  const up = upFrom(path)
  const relative = content.replace(IN_WIKI, (_, before, picture) => `${before}${up}files/${picture}`)
  return withWikiPictures(relative, path) === content ? relative : null
}

/** The way back. @param {string} content @param {string} path */
export function withWikiPictures (content, path) {
  const up = upFrom(path)
  return content.replace(IN_FOLDER, (whole, before, steps, picture) =>
    steps === up ? `${before}/files/${picture}` : whole)
}

/** @param {string} path */
const upFrom = (path) => '../'.repeat(path.split('/').length - 1)
