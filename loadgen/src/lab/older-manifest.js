/**
 * Translates what manifests of older versions say otherwise, or leave out (docs/results-format.md): they named an
 * uplink without saying whose, and did not limit the client's; all arrivals were constant; links always stood between
 * the hops of a stack of the lab's own.
 * @param {Record<string, any>} manifest  of a run or study
 * @returns {Record<string, any>} in today's form
 */
export function inTodaysForm (manifest) {
  const { kind, profile, experiment, links, target } = manifest
  return {
    ...manifest,
    ...profile?.asked?.links && { profile: { ...profile, asked: withBothUplinks(profile.asked) } },
    ...experiment?.settings && {
      experiment: { ...experiment, settings: { arrivals: 'constant', ...experiment.settings } }
    },
    ...kind === 'run' && { links: links ?? !target }
  }
}

/**
 * @param {Record<string, any>} asked  a profile
 * @returns {Record<string, any>}
 */
function withBothUplinks (asked) {
  const { uplink_mbit_per_s: uplink, ...links } = asked.links
  if (uplink === undefined) return asked
  return { ...asked, links: { ...links, origin_uplink_mbit_per_s: uplink, client_uplink_mbit_per_s: null } }
}
