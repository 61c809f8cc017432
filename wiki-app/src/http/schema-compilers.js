import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Compiled when first needed: Ajv takes a sixth of the wiki's start time.
 * https://fastify.dev/docs/latest/Reference/Server/#schemacontroller
 */
export const schemaCompilers = {
  /** @param {unknown} sharedSchemas @param {any} options  Ajv's */
  buildValidator (sharedSchemas, options) {
    /** @type {((route: unknown) => Check) | undefined} */
    let compile
    return (/** @type {unknown} */ route) => {
      /** @type {Check | undefined} */
      let validate
      /** @type {Check} */
      const check = (data) => {
        compile ??= /** @type {(route: unknown) => Check} */ (
          require('@fastify/ajv-compiler')()(sharedSchemas, options))
        validate ??= compile(route)
        const valid = validate(data)
        check.errors = validate.errors
        return valid
      }
      return /** @type {any} */ (check)
    }
  },
  // Response schemas only document; a test checks the responses.
  buildSerializer: () => () => JSON.stringify
}

/** @typedef {{(data: unknown): boolean, errors?: unknown}} Check  as Ajv creates it */
