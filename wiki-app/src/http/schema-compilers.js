import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/**
 * Compiles each schema when it is first needed: Ajv and its compiling are a sixth of the wiki's start time, and most
 * requests for a page send nothing to validate. https://fastify.dev/docs/latest/Reference/Server/#schemacontroller
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
  // Schemas of responses only document them; a test checks the responses against their schemas.
  buildSerializer: () => () => JSON.stringify
}

/** @typedef {{(data: unknown): boolean, errors?: unknown}} Check  as Ajv creates it */
