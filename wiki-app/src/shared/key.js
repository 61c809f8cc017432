import { createHash } from 'node:crypto'

/** 128 bits in base64url. */
const HASH_CHARS = 22

/**
 * Part of a key in Redis: of one length, whatever a client sends, and no client's address can be read from it.
 * @param {string} text
 */
export const hashOf = (text) => createHash('sha256').update(text).digest('base64url').slice(0, HASH_CHARS)
