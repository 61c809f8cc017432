/** Obsidian has tags below tags. @param {string | string[] | undefined} tags  of a front matter */
export const flatTags = (tags) => Array.isArray(tags) ? tags.map(flatTag) : tags && flatTag(tags)

/** @param {string} tag */
const flatTag = (tag) => tag.replaceAll('/', '-')
