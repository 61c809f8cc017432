import path from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder deploy/release. */
export const HERE = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
/** The folder of systemd's units, for the release and for the board's image. */
export const UNITS = path.join(HERE, 'units')
