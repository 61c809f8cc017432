import { planLines } from '@stevec/cdn/cloudflare/text'

export const say = (/** @type {string} */ line) => { process.stderr.write(`${line}\n`) }
export const print = (/** @type {string[]} */ ...lines) => { process.stdout.write(lines.map((line) => `${line}\n`).join('')) }
export const printJson = (/** @type {unknown} */ value) => print(JSON.stringify(value, null, 2))

/**
 * @param {import('@stevec/cdn/cloudflare/plan').Plan} plan
 * @param {boolean} json
 */
export function showPlan (plan, json) {
  if (json) {
    printJson({
      kind: plan.kind,
      zone: plan.zone,
      hosts: plan.hosts,
      changes: plan.steps.flatMap(({ changes }) => changes),
      conflicts: plan.conflicts,
      notes: plan.notes,
      id: plan.fingerprint
    })
  } else print(...planLines(plan))
}

/** @param {import('@stevec/cdn/cloudflare/verify').Check} check */
export function showCheck ({ id, outcome, title, saw, todo }) {
  print(
    `${outcome.padEnd(8)}${id}: ${title}`,
    `        saw: ${saw}`,
    ...(todo === '' ? [] : [`        ${outcome === 'failed' ? 'to do' : 'because'}: ${todo}`])
  )
}
