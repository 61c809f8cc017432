import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { ConfigError } from '../../config-error.js'

const CHUNK_BYTES = 262_144

/** How files begin, and what unpacks them. https://en.wikipedia.org/wiki/List_of_file_signatures */
const PACKED = [
  { signature: Buffer.from('BZh'), name: 'bzip2', unpack: 'bunzip2 --keep' },
  { signature: Buffer.from('377abcaf271c', 'hex'), name: '7-Zip', unpack: '7z x' },
  { signature: Buffer.from('fd377a585a00', 'hex'), name: 'xz', unpack: 'unxz --keep' },
  { signature: Buffer.from('28b52ffd', 'hex'), name: 'Zstandard', unpack: 'unzstd' },
  { signature: Buffer.from('504b0304', 'hex'), name: 'zip', unpack: 'unzip' }
]
const GZIP = Buffer.from('1f8b', 'hex')

/**
 * @param {string} path
 * @param {{signal?: AbortSignal, onRead?: (done: number, total: number) => void}} options  `onRead`: bytes of the file;
 *   total 0: not known
 * @returns {AsyncGenerator<string>} its text, unpacked if it is gzipped
 * @throws {ConfigError} when it is packed otherwise
 * @throws {Error} of the file, or of zlib
 */
export async function * openDump (path, { signal, onRead = () => {} }) {
  const { size, isFile } = await stat(path).then((found) => ({ size: found.size, isFile: found.isFile() }))
  const isGzipped = isFile && await looksGzipped(path)
  const source = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal })
  let done = 0
  source.on('data', (chunk) => {
    done += chunk.length
    onRead(done, isFile ? size : 0)
  })
  const unzipped = isGzipped ? source.pipe(createGunzip()) : source
  // `pipe` does not forward errors.
  if (isGzipped) source.on('error', (error) => unzipped.destroy(error))
  const decoder = new TextDecoder()
  try {
    for await (const chunk of unzipped) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } finally {
    source.destroy()
    unzipped.destroy()
  }
}

/** @param {string} path @returns {Promise<boolean>} @throws {ConfigError} */
async function looksGzipped (path) {
  const handle = await open(path)
  try {
    const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 0)
    const packed = PACKED.find(({ signature }) => buffer.indexOf(signature) === 0)
    if (packed) {
      throw new ConfigError(`${path} is packed with ${packed.name}; unpack it first: ${packed.unpack} ${path}`)
    }
    return buffer.indexOf(GZIP) === 0
  } finally {
    await handle.close()
  }
}
