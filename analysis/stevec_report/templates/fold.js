const folds = [...document.querySelectorAll('details')]
const openTarget = () => {
  const target = document.querySelector(':target')
  let opened = false
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === 'DETAILS' && !at.open) opened = at.open = true
  }
  if (opened) target.scrollIntoView()
}
let closed = []
addEventListener('hashchange', openTarget)
addEventListener('beforeprint', () => {
  closed = folds.filter((fold) => !fold.open)
  for (const fold of closed) fold.open = true
})
addEventListener('afterprint', () => {
  for (const fold of closed) fold.open = false
})
openTarget()
