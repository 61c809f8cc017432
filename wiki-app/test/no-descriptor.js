// A wiki without a free file descriptor, which a picture asks for a thumbnail.
import { openSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createMaker } from '../src/files/thumbnails/maker.js'

try {
  for (;;) openSync('/dev/null', 'r')
} catch {
  await createMaker({ log: console }).make(async () => Readable.from([Buffer.alloc(1_000)])).catch((error) => {
    console.log(`${error.constructor.name}: ${error.message}`)
  })
  setTimeout(() => console.log('the wiki runs'), 100)
}
