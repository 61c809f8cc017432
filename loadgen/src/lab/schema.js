import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Ajv } from 'ajv'
import { ROOT } from '@stevec/harness/config'

const SCHEMA = path.join(ROOT, 'loadgen/experiments/experiment.schema.json')

/** Compiled once: a run checks each cell. @type {Ajv | undefined} */
let ajv

/**
 * Checks a value against the schema of experiments.
 * @param {'experiment' | 'settings'} what  also its name in the message
 * @param {unknown} value
 * @returns {string | null}
 */
export function violations (what, value) {
  if (ajv === undefined) {
    const schema = JSON.parse(readFileSync(SCHEMA, 'utf8'))
    // The schema tells the two kinds of factor apart with `if`: a mistake in one kind gives no error about the other.
    ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
      .addSchema(schema, 'experiment')
      .addSchema({ definitions: schema.definitions, $ref: '#/definitions/settings' }, 'settings')
  }
  if (ajv.validate(what, value)) return null
  const errors = (ajv.errors ?? []).filter(({ keyword }) => keyword !== 'if')
  return ajv.errorsText(errors, { dataVar: what, separator: '; ' })
}
