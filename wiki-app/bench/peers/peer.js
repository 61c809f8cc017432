/**
 * Another wiki, run as people usually run it, for a comparison on the same machine.
 * @typedef {object} Peer
 * @property {string} name
 * @property {string} install  how to get it; the benchmark does not install it
 * @property {string} deployment  the programs that serve it
 * @property {() => string | null} lacks  what is not installed; null when it can be started
 * @property {() => string} version
 * @property {string} sentence  with a link and an emphasis in its own markup
 * @property {(
 *   servers: ReturnType<typeof import('../servers.js').createServers>,
 *   text: string
 * ) => Promise<{url: string, path: string, pids: number[]}>} start  on a free port, with one page of that text; `pids`
 *   are of all its processes; everything it writes is in a folder that is removed with the benchmark's
 */
export {}
