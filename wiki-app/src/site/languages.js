/** Codes of BCP 47. The place of a language is part of the renderer's version: add new ones at the end. */
export const LANGUAGES = /** @type {const} */ (['en', 'sl'])

/** @typedef {typeof LANGUAGES[number]} Language */
