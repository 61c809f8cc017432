// What the program of thumbnails does where sharp does not load.
import { EXIT } from '../src/files/thumbnails/limits.js'

process.stderr.write('Could not load the "sharp" module\n')
process.exitCode = EXIT.noDecoder
