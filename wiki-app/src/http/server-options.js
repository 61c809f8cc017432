import { logController } from '../observe/request-log.js'
import { answerMalformed } from './malformed-requests.js'
import { schemaCompilers } from './schema-compilers.js'
import { schemaError } from './schema-errors.js'

/** @import {FastifyError, FastifyRequest, FastifyServerFactory} from 'fastify' */
/** @import {IncomingMessage} from 'node:http' */
/** @import {Config} from '../settings.js' */

/** Encoding makes a text longer; its own length is checked after decoding. */
const ENCODED_BODY_FACTOR = 3
/** Longer than the header, so that the rule for page names refuses long names. */
export const PARAMETER_MAX_CHARS = 20_000
/** As many as nginx keeps; an idle connection takes a few kB. */
export const CONNECTIONS_MAX = 12_288

/**
 * https://fastify.dev/docs/latest/Reference/Server/
 * @typedef {(error: FastifyError, request: FastifyRequest, reply: any) => void} OnFrameworkError  for URLs that cannot
 *   be decoded
 * @typedef {{requestIds: (raw: IncomingMessage) => string, serverFactory: FastifyServerFactory}} Hooks
 * @param {Hooks & {config: Config, logTo: NodeJS.WritableStream, onFrameworkError: OnFrameworkError}} options
 */
export const serverOptions = ({ config, logTo, requestIds, serverFactory, onFrameworkError }) => ({
  // Standard output has only the line with the address.
  logger: { level: config.LOG_LEVEL, stream: logTo },
  // Few requests log a line.
  childLoggerFactory: (/** @type {import('fastify').FastifyBaseLogger} */ logger) => logger,
  logController,
  genReqId: requestIds,
  serverFactory,
  bodyLimit: ENCODED_BODY_FACTOR * config.PAGE_MAX_BYTES,
  // nginx keeps idle connections for 600 s, and must close first: it may be sending a request.
  keepAliveTimeout: 660_000,
  requestTimeout: 30_000,
  // Building the indexes of a large database takes long.
  pluginTimeout: 300_000,
  return503OnClosing: false,
  trustProxy: false,
  routerOptions: { maxParamLength: PARAMETER_MAX_CHARS },
  schemaController: { compilersFactory: schemaCompilers },
  schemaErrorFormatter: schemaError,
  // Ajv must drop and convert nothing silently. A test validates the schemas themselves.
  ajv: {
    customOptions: {
      removeAdditional: /** @type {false} */ (false),
      coerceTypes: /** @type {false} */ (false),
      validateSchema: false
    }
  },
  clientErrorHandler: answerMalformed,
  frameworkErrors: onFrameworkError
})
