/** Boxes of task lists, for those to whom the page offers its editor. */
const permanentLink = /** @type {HTMLAnchorElement?} */ (document.querySelector('.tools a[href^="/revision/"]'))
const [, taskPage, shownRevision] = /^\/revision\/(.+)\/(\d+)$/.exec(permanentLink?.pathname ?? '') ?? []
const editLink = /** @type {HTMLElement?} */ (document.querySelector('.tools a.writes'))
const isPast = location.pathname.startsWith('/revision/')
const taskStatus = document.createElement('p')
taskStatus.className = 'status'
taskStatus.role = 'status'
let ticking = Promise.resolve()
// As the editor remembers it (author.js). Storage may throw in private windows.
const rememberedAuthor = () => { try { return localStorage.author } catch {} }

/** @param {HTMLInputElement} box @param {boolean} checked */
async function tick (box, checked) {
  const problem = await fetch(`/edit/task/${taskPage}`, {
    method: 'POST',
    keepalive: true,
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    // Always what is shown: the wiki finds out whether the box is still the same.
    body: JSON.stringify({
      base_revision: Number(shownRevision), task: Number(box.dataset.task), checked, author: rememberedAuthor()
    })
  }).then(async (answer) => {
    if (answer.status === 401) return t('Sign in to tick boxes.')
    return answer.ok ? '' : (await answer.json()).detail
  }).catch(() => t('The wiki does not answer.'))
  if (problem && box.checked === checked) box.checked = !checked
  if (problem) (box.closest('label') ?? box).after(taskStatus)
  taskStatus.textContent = problem && `${t('Not saved.')} ${problem}`
}

for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('article [data-task]'))) {
  if (!taskPage || isPast || !editLink?.offsetParent) break
  // A browser may put back what it showed before a reload.
  box.checked = box.defaultChecked
  box.disabled = false
  box.addEventListener('change', () => {
    const { checked } = box
    ticking = ticking.then(() => tick(box, checked))
  })
}

export {}
