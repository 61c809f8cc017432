/** @import {FastifySchemaValidationError} from 'fastify/types/schema.js' */

const PARTS = { querystring: ' in the address', params: ' in the address', headers: ' in the header' }
const TYPES = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object'
}

/** @type {Record<string, (name: string, params: Record<string, any>) => string>} */
const SENTENCES = {
  required: (_name, { missingProperty }) => `The field “${missingProperty}” is missing`,
  additionalProperties: (_name, { additionalProperty }) => `“${additionalProperty}” is not known here`,
  type: (name, { type }) => `${name} must be ${TYPES[/** @type {keyof typeof TYPES} */ (type)] ?? 'something else'}`,
  enum: (name, { allowedValues }) => `${name} must be one of: ${allowedValues.join(', ')}`,
  maxLength: (name, { limit }) => `${name} is longer than ${limit} characters`,
  minLength: (name) => `${name} must not be empty`,
  maximum: (name, { limit }) => `${name} is larger than ${limit}`,
  minimum: (name, { limit }) => `${name} is smaller than ${limit}`,
  maxItems: (name, { limit }) => `${name} has more than ${limit} items`
}

/**
 * https://fastify.dev/docs/latest/Reference/Validation-and-Serialization/#schemaerrorformatter
 * @param {FastifySchemaValidationError[]} errors  of Ajv @param {string} part  of the request
 * @returns {Error} with a sentence for people
 */
export function schemaError ([{ keyword, instancePath, params }], part) {
  const field = instancePath.split('/')[1]
  const name = field === undefined ? 'The request' : `“${field}”`
  const sentence = SENTENCES[keyword]?.(name, params) ?? `${name} has a value that is not allowed here`
  return new Error(`${sentence}${PARTS[/** @type {keyof typeof PARTS} */ (part)] ?? ''}.`)
}
