import assert from 'node:assert/strict'

/**
 * What the protocol needs of its database: of a real replica set of three, and of the simulation's model.
 * @typedef {{position: bigint, id: string, mark?: number}} Entry  of the purge log; position: of its commit
 * @typedef {object} Process  of a wiki, with connections of its own
 * @property {(page: string) => Promise<number>} save  writes a revision, and its entry, in a transaction; resolves when
 *   that is acknowledged
 * @property {(page: string, after?: bigint) => Promise<number>} read  with read concern majority, nothing from before
 *   that position; 0: there is no revision
 * @property {(number: number) => Promise<void>} mark
 * @property {() => Promise<{next: () => Promise<Entry | null>}>} watch  from now on; null: nothing came within a second
 * @typedef {object} Database
 * @property {() => Promise<Process>} connect
 * @property {() => Promise<() => void>} part  the primary from the other servers; returns what ends that
 * @property {() => Promise<void>} killPrimary  it comes back
 * @property {() => Promise<void>} killAll  at once, as when the power fails; they come back
 */

const PAGES = ['a', 'b', 'c']
const SAVES = 8
const ELECTIONS = 3
const ENTRIES_MAX = 1_000
/** Of a second each. */
const SILENCES_MAX = 60

/** @param {string} page @param {number} revision */
export const idOf = (page, revision) => `${page} ${revision}`

/**
 * @param {{next: () => Promise<Entry | null>}} stream @param {(entry: Entry) => boolean} isLast
 * @returns {Promise<Entry[]>} with the last one
 */
async function entriesUntil (stream, isLast) {
  const entries = []
  for (let silences = 0; silences < SILENCES_MAX && entries.length < ENTRIES_MAX;) {
    const entry = await stream.next()
    if (entry === null) silences++
    else entries.push(entry)
    if (entry !== null && isLast(entry)) return entries
  }
  throw new Error('the last entry does not come')
}

/** @param {Promise<Entry[]>} entries @returns {Promise<Entry>} */
const lastOf = async (entries) => /** @type {Entry} */ ((await entries).at(-1))

/** @param {Entry[]} entries */
function assertInOrder (entries) {
  for (const [index, { position }] of entries.entries()) {
    assert.ok(index === 0 || position > entries[index - 1].position, `${position} after ${entries[index - 1]?.position}`)
  }
}

/**
 * Kills servers as soon as saves are acknowledged, while others are under way. All that was acknowledged is there
 * afterwards.
 * @param {Database} database @param {() => Promise<void>} kill
 */
async function killWhileSaving (database, kill) {
  const process = await database.connect()
  const under = new AbortController()
  const others = (async () => { while (!under.signal.aborted) await process.save('other').catch(() => {}) })()
  for (let number = 1; number < SAVES; number++) await process.save(PAGES[number % PAGES.length])
  const acknowledged = await Promise.all(PAGES.map((page) => process.save(page)))
  await kill()
  under.abort()
  await others
  const other = await database.connect()
  assert.deepEqual(await Promise.all(PAGES.map((page) => other.read(page))), acknowledged)
}

/**
 * A save may be refused, or its answer lost, where the primary changes.
 * @param {Process} process @param {string} page @returns {Promise<number>} its revision
 */
async function saved (process, page) {
  for (let attempt = 1; attempt < SAVES; attempt++) {
    const revision = await process.save(page).catch(() => null)
    if (revision !== null) return revision
  }
  return process.save(page)
}

/** @type {Record<string, (database: Database) => Promise<void>>} */
export const CONTRACT = {
  'positions grow in the order in which saves are acknowledged, in whichever process': async (database) => {
    const processes = [await database.connect(), await database.connect()]
    const stream = await processes[0].watch()
    /** @type {string[]} */
    const ids = []
    for (let number = 0; number < SAVES; number++) {
      const page = PAGES[number % PAGES.length]
      ids.push(idOf(page, await processes[number % 2].save(page)))
    }
    const entries = await entriesUntil(stream, ({ id }) => id === ids.at(-1))
    assertInOrder(entries)
    assert.deepEqual(entries.map(({ id }) => id), ids)
  },

  'saves at the same time have different positions, and all streams have them in one order, each once': async (database) => {
    const processes = [await database.connect(), await database.connect()]
    const streams = [await processes[0].watch(), await processes[1].watch()]
    await Promise.all(PAGES.map(async (page, number) => {
      for (let count = 0; count < SAVES; count++) await processes[number % 2].save(page)
    }))
    const last = idOf('d', await processes[0].save('d'))
    const [entries, others] = await Promise.all(streams.map((stream) => entriesUntil(stream, ({ id }) => id === last)))
    assertInOrder(entries)
    assert.deepEqual(others, entries)
    assert.equal(new Set(entries.map(({ id }) => id)).size, PAGES.length * SAVES + 1)
    assert.equal(entries.length, PAGES.length * SAVES + 1)
  },

  'a mark comes back by its own stream, after all that was acknowledged before it was begun': async (database) => {
    const [own, other] = [await database.connect(), await database.connect()]
    const stream = await own.watch()
    /** @type {string[]} */
    const acknowledged = []
    for (let number = 1; number <= 3; number++) {
      for (const page of PAGES) acknowledged.push(idOf(page, await other.save(page)))
      const marking = own.mark(number)
      const entries = await entriesUntil(stream, ({ mark }) => mark === number)
      assertInOrder(entries)
      assert.deepEqual(entries.slice(0, -1).map(({ id }) => id), acknowledged.splice(0))
      await marking
    }
  },

  'what is acknowledged is seen by each read that begins afterwards, in whichever process': async (database) => {
    const processes = [await database.connect(), await database.connect()]
    for (let number = 0; number < SAVES; number++) {
      const revision = await processes[number % 2].save('a')
      assert.equal(await processes[(number + 1) % 2].read('a'), revision)
    }
    assert.equal(await processes[0].read('none'), 0)
  },

  'a stream has nothing from before it, and says after a while that nothing comes': async (database) => {
    const process = await database.connect()
    await process.save('a')
    const stream = await process.watch()
    assert.equal(await stream.next(), null)
    const revision = await process.save('a')
    assert.deepEqual((await entriesUntil(stream, () => true)).map(({ id }) => id), [idOf('a', revision)])
  },

  'a primary that is parted from the others acknowledges no write': async (database) => {
    const process = await database.connect()
    const before = await process.save('a')
    const end = await database.part()
    let isParted = true
    /** @type {boolean | null} */
    let wasParted = null
    const saving = process.save('a').then((revision) => {
      wasParted = isParted
      return revision
    }, () => null)
    // Others may be refused, too.
    for (let count = 0; count < 3; count++) {
      const revision = await process.read('a').catch(() => before)
      assert.equal(revision, before, 'a majority does not have it')
    }
    assert.equal(wasParted, null)
    isParted = false
    end()
    const revision = await saving
    assert.ok(revision === null || revision > before)
    // A new primary knows what a majority has as soon as it has acknowledged a write.
    const other = await database.connect()
    await saved(other, 'b')
    assert.ok(await other.read('a') >= (revision ?? before))
  },

  'a read after a position has all that is before it, also at a primary that was just elected': async (database) => {
    for (let round = 0; round < ELECTIONS; round++) {
      // A stream breaks with its primary, so each round has its own.
      const [editor, reader] = [await database.connect(), await database.connect()]
      const stream = await editor.watch()
      const revision = await saved(editor, 'a')
      const { position } = await lastOf(entriesUntil(stream, ({ id }) => id === idOf('a', revision)))
      const killed = database.killPrimary()
      for (let count = 0; count < 5; count++) assert.equal(await reader.read('a', position), revision)
      await killed
    }
  },

  'what is acknowledged survives that the primary is killed': (database) =>
    killWhileSaving(database, database.killPrimary),

  'what is acknowledged survives that all servers are killed at once': (database) =>
    killWhileSaving(database, database.killAll)
}
