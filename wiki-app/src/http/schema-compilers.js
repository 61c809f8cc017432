import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * How Fastify makes functions of schemas, put off until one is needed: Ajv and its compiling are a sixth of a wiki's start, and most who ask for a page send
 * nothing that is checked. Fastify's own way compiles all schemas before the first request.
 * https://fastify.dev/docs/latest/Reference/Server/#schemacontroller
 */
export const schemaCompilers = {
  /**
   * @param {unknown} sharedSchemas
   * @param {any} options  Ajv's
   */
  buildValidator (sharedSchemas, options) {
    /** @type {((route: unknown) => Check) | undefined} */
    let compile
    return (/** @type {unknown} */ route) => {
      /** @type {Check | undefined} */
      let validate
      /** @type {Check} */
      const check = (data) => {
        compile ??= /** @type {(route: unknown) => Check} */ (require('@fastify/ajv-compiler')()(sharedSchemas, options))
        validate ??= compile(route)
        const valid = validate(data)
        check.errors = validate.errors
        return valid
      }
      return /** @type {any} */ (check)
    }
  },
  // The schemas of answers describe them, and a test holds them to it.
  buildSerializer: () => () => JSON.stringify
}

/** @typedef {{(data: unknown): boolean, errors?: unknown}} Check  as Ajv makes it */
