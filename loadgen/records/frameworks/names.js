/** The frameworks of the record service; `fastify` is the wiki's own, the other two are a related study's. */
export const FRAMEWORKS = /** @type {const} */ (['express', 'koa', 'fastify'])
