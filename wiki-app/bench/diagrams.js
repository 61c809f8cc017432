// What drawing diagrams costs: `node wiki-app/bench/diagrams.js`. With `entangled` as argument: what the limit of
// processor time is for, up to a minute.
import { residentMb } from './process.js'

const names = (/** @type {string} */ letter) =>
  Array.from({ length: 25 }, (_, index) => `${letter}${index}`).join(' & ')
const SOURCES = {
  'flowchart of 100 links': `graph TD\n${links(60, 100, (from, to) => `n${from} --> n${to}`)}`,
  'flowchart of 9 links': `graph TD\n${links(8, 9, (from, to) => `n${from} --> n${to}`)}`,
  'states, 9 links': `stateDiagram-v2\n${links(8, 9, (from, to) => `s${from} --> s${to} : x`)}`,
  'sequence of 9': `sequenceDiagram\n${links(8, 9, (from, to) => `a${from}->>a${to}: x`)}`,
  'classes, 9 links': `classDiagram\n${links(8, 9, (from, to) => `C${from} <|-- C${to}`)}`,
  'entities, 9 links': `erDiagram\n${links(8, 9, (from, to) => `E${from} ||--o{ E${to} : x`)}`
}

const beforeMb = residentMb(process.pid)
const loadMs = await timed(async () => { await import('../src/markdown/diagram-work.js') })
const { default: draw } = await import('../src/markdown/diagram-work.js')
const firstMs = await timed(() => draw('graph TD\nA --> B'))
console.log(`load ${loadMs.toFixed(0)} ms, first drawing ${firstMs.toFixed(0)} ms`)
for (const [name, source] of Object.entries(SOURCES)) {
  draw(source)
  const ms = await timed(() => draw(source))
  console.log(`${name}: ${ms.toFixed(1)} ms, ${source.length} characters, ${draw(source).svg.length} of SVG`)
}
console.log(`memory: ${(residentMb(process.pid) - beforeMb).toFixed(0)} MB more`)
if (process.argv[2] === 'entangled') {
  const source = `graph TD\n${names('a')} --> ${names('b')}`
  const ms = await timed(() => draw(source))
  console.log(`${source.length} characters, 25 nodes joined to 25: ${(ms / 1000).toFixed(0)} s`)
}

/** @param {() => unknown} work */
async function timed (work) {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}

/** @param {number} nodes @param {number} count @param {(from: number, to: number) => string} line */
function links (nodes, count, line) {
  return Array.from({ length: count }, (_, index) => line(index % nodes, (index * 7 + 1) % nodes)).join('\n')
}
