/** @param {() => void} work @param {number} afterMs  since the last call */
export function settled (work, afterMs) {
  let timer = 0
  const soon = () => {
    clearTimeout(timer)
    timer = setTimeout(work, afterMs)
  }
  return Object.assign(soon, { cancel: () => clearTimeout(timer) })
}
