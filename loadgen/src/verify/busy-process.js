// A process that works: for `argv[2]` ms of processor time at each message of its parent, or always without a number.
// It ends with its parent, as its channel then closes.
const workMs = Number(process.argv[2] ?? 0)

if (workMs > 0) {
  process.on('message', (id) => {
    const before = process.cpuUsage()
    for (let usedUs = 0; usedUs < workMs * 1000;) {
      const { user, system } = process.cpuUsage(before)
      usedUs = user + system
    }
    process.send?.(id)
  })
} else {
  process.on('message', () => {})
  const work = () => {
    for (let round = 0; round < 1e6; round++) Math.sqrt(round)
    setImmediate(work)
  }
  work()
}
process.on('disconnect', () => process.exit())
