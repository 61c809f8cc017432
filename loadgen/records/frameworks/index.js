/**
 * Makes a server that does not listen yet.
 * @typedef {(answers: import('../answers.js').Answers) => Promise<import('node:http').Server>} Make
 */

/**
 * Each framework is loaded only where it is asked for: the others would take memory and time to start.
 * @type {Record<typeof import('./names.js').FRAMEWORKS[number], () => Promise<Make>>}
 */
const LOADERS = {
  express: async () => (await import('./express.js')).createExpress,
  koa: async () => (await import('./koa.js')).createKoa,
  fastify: async () => (await import('./fastify.js')).createFastify
}

/**
 * @param {keyof typeof LOADERS} name
 * @param {import('../answers.js').Answers} answers
 */
export const createServerOf = async (name, answers) => (await LOADERS[name]())(answers)
