/** The server puts the text in the wiki's language in its place, see ../assets.js. */
declare function t (text: string): string
