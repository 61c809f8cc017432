/** Doors listen on loopback unless they are somebody else's. @param {string} url */
const isHere = (url) => /^(127\.0\.0\.1|([a-z0-9-]+\.)?localhost)$/.test(new URL(url).hostname)

/** @param {string} url */
const portOf = (url) => Number(new URL(url).port) || (url.startsWith('https:') ? 443 : 80)

/**
 * @param {import('../lab/generator.js').GeneratorSettings} settings
 * @returns {string[]}
 */
const doorsHere = ({ url, urls = [url], edit_url: editUrl = url }) => [...new Set([...urls, editUrl])].filter(isHere)

/**
 * @param {import('../lab/generator.js').GeneratorSettings} settings
 * @returns {number[]} of the doors on this machine
 */
export const doorPorts = (settings) => [...new Set(doorsHere(settings).map(portOf))]

/**
 * @param {import('../lab/generator.js').GeneratorSettings} settings
 * @param {Map<number, number>} forwards  ports there, by port here
 * @returns {Record<string, string>} see GeneratorSettings
 */
export const hostsOf = (settings, forwards) => Object.fromEntries(doorsHere(settings).map((url) =>
  [`${new URL(url).hostname}:${portOf(url)}`, `127.0.0.1:${forwards.get(portOf(url))}`]))
