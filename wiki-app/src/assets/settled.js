/** @param {() => void} work @param {number} afterMs  since the last call */
export function settled (work, afterMs) {
  let timer = 0
  return () => {
    clearTimeout(timer)
    timer = setTimeout(work, afterMs)
  }
}
