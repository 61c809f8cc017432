import { disturbanceOf } from '../machine/saturation.js'
import { intervalBetween } from '../machine/usage.js'
import { watchMachine } from '../machine/watch.js'

/**
 * Starts to watch how much other processes use the machine.
 * @returns {() => string | undefined} ends the watch; returns a sentence if they used too much to trust any times
 */
export function watchDisturbance () {
  const watch = watchMachine(() => [])
  return () => {
    const readings = watch.stop()
    const [begin, end] = [readings[0], readings[readings.length - 1]]
    if (begin === undefined) return undefined
    return disturbanceOf({ ...intervalBetween(begin, end), cores: begin.processors.cores }) ?? undefined
  }
}
