import { encodeName } from '../pages/name.js'

/** Below /edit/, as other forms. @param {string} name */
export const eraseFormUrl = (name) => `/edit/erase/${encodeName(name)}`

/** @param {string} name @param {number} from @param {number} to  numbers of revisions */
export const eraseUrl = (name, from, to) => `${eraseFormUrl(name)}?from=${from}&to=${to}`
