const SIGNS = Object.freeze({ create: '+', update: '~', delete: '-', move: '~' })

/**
 * Renders a plan as readable lines, like a diff.
 * @param {import('./plan.js').Plan} plan
 * @returns {string[]}
 */
export function planLines (plan) {
  const changes = plan.steps.flatMap((step) => step.changes)
  return [
    ...changes.flatMap(changeLines),
    ...plan.conflicts.map((conflict) => `! ${conflict}`),
    ...plan.notes.map((note) => `  note: ${note}`),
    changes.length === 0
      ? `${plan.zone}: nothing to do`
      : `${plan.zone}: ${changes.length} change${changes.length === 1 ? '' : 's'}${
        plan.conflicts.length > 0 ? ', none of which may be made' : ''
      }`
  ]
}

/**
 * @param {import('./plan.js').Change} change
 * @returns {string[]}
 */
function changeLines ({ action, what, before, after, why }) {
  const title = `${SIGNS[action]} ${what}${why ? ` (${why})` : ''}`
  if (typeof (after ?? before) !== 'object') return [`${title}: ${before} → ${after}`]
  const fields = Object.keys(after ?? before)
  return [title, ...fields.flatMap((field) => {
    const [old, now] = [show(before?.[field]), show(after?.[field])]
    if (before === null) return [`    ${field}: ${now}`]
    if (after === null) return [`    ${field}: ${old}`]
    return old === now ? [] : [`    ${field}: ${old} → ${now}`]
  })]
}

/** @param {unknown} value */
const show = (value) => typeof value === 'string' ? value : JSON.stringify(value ?? null)
