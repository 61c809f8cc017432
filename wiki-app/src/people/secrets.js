import { randomBytes } from 'node:crypto'

const BYTES = 32

/** For an address that is sent to one person. */
export const createLinkSecret = () => randomBytes(BYTES).toString('base64url')

/** The prefix lets scanners for secrets find tokens that were published by mistake. */
export const createToken = () => `stevec_${createLinkSecret()}`
