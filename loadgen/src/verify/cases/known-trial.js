import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { gunzipSync } from 'node:zlib'

/**
 * Returns why the lab called the only trial of a run invalid.
 * @param {string} run
 * @returns {string[]}
 */
export const reasonsOf = (run) => trialOf(run).invalid_reasons

/** @param {string} run */
export const trialOf = (run) => JSON.parse(readFileSync(path.join(run, 'trials/0001/trial.json'), 'utf8'))

/**
 * @param {string} trialDirectory  of the open model
 * @returns {number[]} planned times of the requests, ms, rising
 */
export function readPlannedTimesMs (trialDirectory) {
  const text = gunzipSync(readFileSync(path.join(trialDirectory, 'samples.csv.gz'))).toString()
  const [header, ...rows] = text.trimEnd().split('\n')
  const column = header.split(',').indexOf('planned_at_us')
  return rows.map((row) => Number(row.split(',')[column]) / 1000).sort((a, b) => a - b)
}

/**
 * Copies a run and changes something in the copy.
 * @param {string} run
 * @param {(trialDirectory: string) => void} change
 * @returns {string} the folder of the copy
 */
export function tampered (run, change) {
  const copy = `${run}-${copies++}`
  cpSync(run, copy, { recursive: true })
  change(path.join(copy, 'trials/0001'))
  return copy
}
let copies = 0

/**
 * @param {string} directory
 * @param {string} name
 * @param {(value: any) => void} change
 */
export function changeJson (directory, name, change) {
  const file = path.join(directory, name)
  const value = JSON.parse(readFileSync(file, 'utf8'))
  change(value)
  writeFileSync(file, JSON.stringify(value))
}
