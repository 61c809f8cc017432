import { personIn } from '../access/access.js'
import { sendRevalidated } from '../http/send-revalidated.js'
import { API_PREFIX, HTML, renderFor } from '../views.js'

/** @import {FastifyPluginAsync} from 'fastify' */

const PAGE_URL = '/api/'

/**
 * A page for people, from the same OpenAPI document as programs get (docs/decisions/0038).
 * @type {FastifyPluginAsync<{document: () => any, documentUrl: string, cacheControl: string}>}
 */
export async function documentationRoutes (app, { document, documentUrl, cacheControl }) {
  const options = { config: { database: false }, schema: { hide: true } }
  /** @param {import('fastify').FastifyRequest} request */
  const render = (request) => renderFor(request, 'api', {
    ...documentation(document()), documentUrl
  })
  /** @type {string | undefined} */
  let forEverybody

  app.get(PAGE_URL, options, async (request, reply) => {
    // The header names a known person.
    const body = personIn(request) === null ? forEverybody ??= render(request) : render(request)
    return sendRevalidated(request, reply, { cacheControl, type: HTML, body })
  })

  app.get(PAGE_URL.slice(0, -1), options, async (_request, reply) =>
    reply.header('cache-control', cacheControl).redirect(PAGE_URL, 301))
}

/** @param {any} document  OpenAPI 3.1, as this API makes it */
function documentation ({ info, tags, paths, components }) {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation)))
  return {
    title: info.summary,
    description: info.description,
    token: components.securitySchemes.token.description,
    groups: tags.map((/** @type {{name: string, description: string}} */ { name, description }) =>
      ({ title: description, operations: operations.filter(({ of }) => of.includes(name)) })),
    objects: Object.entries(components.schemas).map(([name, schema]) => ({ name, fields: fieldsOf(schema) }))
  }
}

/** @param {string} path @param {string} method @param {any} operation */
function operationOf (path, method, { tags, summary, description, security, parameters = [], requestBody, responses }) {
  const id = `_${method}${path.replace(/\W+/g, '-')}`
  const answers = Object.entries(responses).map(([status, { description, content }]) => {
    const [[type, media] = ['', /** @type {any} */ ({})]] = Object.entries(content ?? {})
    return { status, description, type, example: media.example && JSON.stringify(media.example, null, 2) }
  })
  return {
    id,
    of: tags,
    method: method.toUpperCase(),
    path,
    url: API_PREFIX + path,
    summary,
    description,
    needsToken: security !== undefined,
    parameters: parameters.map((/** @type {any} */ parameter) => ({
      id: `${id}-${parameter.name}`,
      ...input(parameter)
    })),
    body: bodyOf(requestBody),
    answers: answers.filter(({ status }) => status < '300'),
    others: answers.filter(({ status }) => status >= '300')
  }
}

/** @param {any} parameter */
const input = ({ name, in: place, required = false, description, schema, example }) => ({
  name,
  place,
  required,
  about: aboutOf(schema, description),
  // What a request needs is filled in, the rest suggested.
  value: required ? example : undefined,
  suggestion: required ? undefined : example
})

/** @param {any} requestBody */
function bodyOf (requestBody) {
  const [[type, media] = /** @type {any[]} */ ([])] = Object.entries(requestBody?.content ?? {})
  if (type === undefined) return null
  const { schema, example } = media
  return { type, fields: fieldsOf(schema), example: example === undefined ? null : JSON.stringify(example, null, 2) }
}

/** @param {any} schema */
const fieldsOf = ({ properties = {}, required = [] }) => Object.entries(properties).map(([name, property]) =>
  ({ name, required: required.includes(name), about: aboutOf(property) }))

/** @param {any} schema @param {string} [description] @returns {string} sentences; `code` between backticks */
function aboutOf (schema, description = schema.description) {
  const { enum: values, default: otherwise, minimum, maximum, maxLength, type } = schema
  const said = [
    description,
    values && `One of ${values.map((/** @type {string} */ value) => `\`${value}\``).join(', ')}.`,
    minimum !== undefined && maximum !== undefined && type === 'integer' && `From ${minimum} to ${maximum}.`,
    maxLength !== undefined && `At most ${maxLength} characters.`,
    otherwise !== undefined && `Left out: \`${otherwise}\`.`
  ]
  return said.filter(Boolean).join(' ')
}
