import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { countOf } from '../count-of.js'
import { readManifest } from './manifest.js'

/** Of a block's trials: if more were disturbed, limited by the instrument, or invalid, the study is no sample. */
export const DOUBTFUL_SHARE_MAX = 0.1
/** Limits that make a trial show what the instrument can do. */
const LIMITED_BY = ['generator', 'links', 'machine']

/** What a trial says of itself. @typedef {Pick<import('./trial.js').TrialResult, 'trial' | 'repetition' | 'valid' |
 *   'invalid_reasons' | 'started_at' | 'finished_at' | 'saturation'>} BlockTrial */

/**
 * A repetition of every experiment of a study: all cells once.
 * @typedef {object} Block
 * @property {number} block  from 1
 * @property {string} started_at
 * @property {string} finished_at
 * @property {number[]} conditions  that its trials ran under, as indices of `Sample.conditions`
 * @property {number} trials
 * @property {number} disturbed_trials
 * @property {number} limited_trials  by the generator, the links or the machine
 * @property {number} invalid_trials
 */

/**
 * The field `sample` of a study's manifest.
 * @typedef {object} Sample
 * @property {number} blocks_planned
 * @property {Block[]} blocks  that are whole
 * @property {string[][]} conditions  what had changed since the beginning, in words; [] of the beginning
 * @property {boolean} is_sample
 * @property {string[]} reasons  why it is none
 */

/**
 * @param {number} planned  blocks
 * @returns {Sample} without a block
 */
export const newSample = (planned) => withVerdict({
  blocks_planned: planned, blocks: [], conditions: [[]], is_sample: false, reasons: []
})

/**
 * @param {Sample} sample
 * @param {string[]} runDirectories  of the study's experiments
 * @returns {Sample} with one block more, whose trials are all there
 */
export function withNextBlock (sample, runDirectories) {
  const block = sample.blocks.length + 1
  const conditions = sample.conditions.map((changes) => [...changes])
  /** @type {Set<number>} */
  const under = new Set()
  const trials = runDirectories.flatMap((directory) => {
    const changesOf = changesByTrial(readManifest(directory) ?? {})
    const found = trialsOfBlock(directory, block)
    for (const { trial } of found) under.add(indexOf(conditions, changesOf.get(trial) ?? []))
    return found
  })
  const count = (/** @type {(trial: BlockTrial) => boolean} */ is) => trials.filter(is).length
  const limits = new Set(LIMITED_BY)
  return withVerdict({
    ...sample,
    conditions,
    blocks: [...sample.blocks, {
      block,
      started_at: trials.map((trial) => trial.started_at).sort()[0],
      finished_at: trials.map((trial) => trial.finished_at).sort().at(-1) ?? '',
      conditions: [...under].sort((a, b) => a - b),
      trials: trials.length,
      disturbed_trials: count(({ saturation }) => (saturation?.disturbed ?? null) !== null),
      limited_trials: count(({ saturation }) => limits.has(saturation?.limit ?? 'nothing')),
      invalid_trials: count(({ valid }) => !valid)
    }]
  })
}

/**
 * @param {Sample} sample
 * @returns {Sample} with `is_sample` and `reasons` of its blocks
 */
function withVerdict (sample) {
  const { blocks, blocks_planned: planned } = sample
  const reasons = [
    ...blocks.length < planned ? [`${blocks.length} of ${planned} blocks are measured`] : [],
    ...blocks.flatMap(({
      block, trials, disturbed_trials: disturbed, limited_trials: limited, invalid_trials: invalid
    }) => [
      ...disturbed > DOUBTFUL_SHARE_MAX * trials
        ? [`other processes disturbed ${disturbed} of ${countOf(trials, 'trial')} of block ${block}`]
        : [],
      ...limited > DOUBTFUL_SHARE_MAX * trials
        ? [`generator, links or machine limited ${limited} of ${countOf(trials, 'trial')} of block ${block}`]
        : [],
      ...invalid > DOUBTFUL_SHARE_MAX * trials
        ? [`${invalid} of ${countOf(trials, 'trial')} of block ${block} ${invalid === 1 ? 'is' : 'are'} invalid`]
        : []
    ])
  ]
  return { ...sample, is_sample: reasons.length === 0, reasons }
}

/**
 * @param {string} directory  of a run
 * @param {number} block
 * @returns {BlockTrial[]}
 */
function trialsOfBlock (directory, block) {
  const folder = path.join(directory, 'trials')
  return readdirSync(folder)
    .filter((name) => /^\d+$/.test(name))
    .map((name) => JSON.parse(readFileSync(path.join(folder, name, 'trial.json'), 'utf8')))
    .filter(({ repetition }) => repetition === block)
}

/**
 * @param {Record<string, any>} manifest  of a run
 * @returns {Map<number, string[]>} what had changed, by trial; a trial that an earlier resumption did not come to is in
 *   a later one, too
 */
function changesByTrial ({ resumptions = [] }) {
  /** @type {Map<number, string[]>} */
  const found = new Map()
  for (const { trials, changes } of resumptions) for (const trial of trials) found.set(trial, changes)
  return found
}

/**
 * @param {string[][]} conditions  is extended by unknown ones
 * @param {string[]} changes
 */
function indexOf (conditions, changes) {
  const known = conditions.findIndex((each) => each.join('\n') === changes.join('\n'))
  return known >= 0 ? known : conditions.push(changes) - 1
}
