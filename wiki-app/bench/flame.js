// Shows where the time of a page view goes, as a flame graph and a list: make flame
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readConfig, ROOT } from '@stevec/harness/config'
import { claimMachine } from '@stevec/harness/machine-lock'
import { waitUntil } from '@stevec/harness/processes'
import { fillWiki, nameOf } from './fill.js'
import { load } from './load.js'
import { describeMachine } from './machine.js'
import { summarise } from './profile.js'
import { createServers } from './servers.js'
import { viewUrl } from '../src/pages/name.js'

const HELP = `Usage: node wiki-app/bench/flame.js [options]

Profiles a wiki of 1000 pages (V8's CPU profiler) under page views over 16 connections, prints the functions that take most time by
themselves, and writes a flame graph: one HTML file that needs nothing else; click to zoom, type to search.

  --seconds N     to profile for, after a warm-up (default 10)
  --output FILE   (default results/bench/flame.html; the profile itself goes beside it, for Chrome's or VS Code's own views)
  --run FOLDER    writes flame.html into the folder of a run; \`stevec report\` links it then

Examples:
  make flame
  node wiki-app/bench/flame.js --seconds 30 --output /tmp/flame.html
`
const PAGES = 1_000
const CONNECTIONS = 16
const WARM_UP_S = 4
const SECONDS_MAX = 300
const TOP = 10
const WRITTEN_MAX_MS = 60_000

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    output: { type: 'string' },
    run: { type: 'string' },
    help: { type: 'boolean', short: 'h' }
  }
})
const seconds = Number(values.seconds)
if (values.help) {
  process.stdout.write(HELP)
} else if (!Number.isInteger(seconds) || seconds < 1 || seconds > SECONDS_MAX) {
  process.stderr.write(`--seconds must be a whole number from 1 to ${SECONDS_MAX}, not "${values.seconds}"\n`)
  process.exitCode = 2
} else if (values.run !== undefined && (values.output !== undefined || !existsSync(values.run))) {
  process.stderr.write('--run must be the folder of a run, without --output\n')
  process.exitCode = 2
} else {
  const folder = values.run ?? path.join(readConfig().resultsDirectory, 'bench')
  await main(path.resolve(values.output ?? path.join(folder, 'flame.html')))
}

/** @param {string} output */
async function main (output) {
  await claimMachine()
  const profileFile = output.replace(/(\.html)?$/, '.cpuprofile')
  mkdirSync(path.dirname(output), { recursive: true })
  const servers = createServers()
  try {
    const mongod = await servers.mongod()
    process.stderr.write(`profiling ${seconds} s of page views …\n`)
    await fillWiki(mongod.uri, { pages: PAGES })
    const written = path.join(servers.directory, 'profile.json')
    const wiki = await servers.wiki(
      mongod.uri,
      { PROFILE_FILE: written },
      ['--import', new URL('profiler.js', import.meta.url).href]
    )
    const requests = Array.from({ length: PAGES }, (_, page) => ({ path: viewUrl(nameOf(page)) }))
    await load({ url: wiki.url, connections: CONNECTIONS, requests, duration_s: WARM_UP_S })
    const loading = load({
      url: wiki.url,
      connections: CONNECTIONS,
      requests,
      duration_s: seconds + 1,
      pids: [wiki.pid]
    })
    process.kill(wiki.pid, 'SIGIO')
    await delay(seconds * 1_000)
    process.kill(wiki.pid, 'SIGIO')
    const { rate_per_s: rate } = await loading
    if (!await waitUntil(() => existsSync(written), WRITTEN_MAX_MS)) {
      throw new Error(`the wiki wrote no profile within ${WRITTEN_MAX_MS / 1000} s`)
    }
    const text = readFileSync(written, 'utf8')
    const { busyUs, totalUs, tree, self } = summarise(JSON.parse(text), ROOT)
    const title = `Page views over ${CONNECTIONS} connections: ${rate.toFixed(0)} a second, ${(100 * busyUs / totalUs).toFixed(0)} % of the main thread's time`
    writeFileSync(profileFile, text)
    writeFileSync(output, flameGraph(tree, title))

    console.log(`${describeMachine()}\n${title}\n\nself ms      %   function, the ${TOP} that take most by themselves`)
    for (const { name, self_us: us } of self.slice(0, TOP)) {
      console.log(`${(us / 1e3).toFixed(0).padStart(7)}  ${(100 * us / busyUs).toFixed(1).padStart(5)}   ${name}`)
    }
    console.log(`\nflame graph: ${path.relative(process.cwd(), output)}\nprofile:     ${path.relative(process.cwd(), profileFile)}`)
  } finally {
    await servers.stopAll()
  }
}

/**
 * Returns a page that contains d3, d3-flame-graph, which draws in the browser, and the data.
 * @param {import('./profile.js').Frame} tree
 * @param {string} title
 */
function flameGraph (tree, title) {
  const [d3, drawing] = [
    ['d3', '../dist/d3.min.js'],
    ['d3-flame-graph', '../dist/d3-flamegraph.umd.min.js']
  ].map(([name, file]) =>
    readFileSync(new URL(file, pathToFileURL(createRequire(import.meta.url).resolve(name))), 'utf8'))
  // In data, only "<" could end the script element.
  const data = JSON.stringify(tree).replaceAll('<', '\\u003c')
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<style>body { font: 14px sans-serif; margin: 1em } h1 { font-size: 1.1em } #details { color: #5b6472; min-height: 1.2em }</style>
<h1>${title}</h1>
<p><label>Search <input type="search" id="term"></label></p>
<p id="details"></p>
<div id="chart"></div>
<script>${d3}</script>
<script>${drawing}</script>
<script>
const whole = ${tree.value}
const labelOf = ({ data }) => data.name + ': ' + (data.value / 1000).toFixed(1) + ' ms, ' + (100 * data.value / whole).toFixed(1) + ' %'
const chart = flamegraph.default().width(document.documentElement.clientWidth - 32).cellHeight(18).minFrameSize(1).transitionDuration(150)
chart.setLabelHandler(labelOf).setDetailsElement(document.getElementById('details'))
chart.setSearchHandler((found, sum) => { document.getElementById('details').textContent = found.length + ' found: ' + (100 * sum / whole).toFixed(1) + ' %' })
d3.select('#chart').datum(${data}).call(chart)
document.getElementById('term').addEventListener('input', ({ target }) => target.value === '' ? chart.clear() : chart.search(target.value))
</script>
</html>
`
}
