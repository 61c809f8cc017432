/**
 * While the server for mail is away, a process tries one mail now and then, not all that are due.
 * @param {{pauseMs: (times: number) => number}} options  `times`: that it was away, one after the other
 */
export function createAwayPause ({ pauseMs }) {
  let times = 0
  let untilMs = 0
  return {
    waitMs: () => Math.max(0, untilMs - performance.now()),
    away () { untilMs = performance.now() + pauseMs(++times) },
    back () { times = 0 }
  }
}
