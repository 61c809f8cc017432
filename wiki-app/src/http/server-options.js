import { logController } from '../observe/request-log.js'
import { answerMalformed } from './malformed-requests.js'
import { schemaCompilers } from './schema-compilers.js'

/** @import {FastifyError, FastifyRequest, FastifyServerFactory} from 'fastify' */
/** @import {IncomingMessage} from 'node:http' */
/** @import {Config} from '../settings.js' */

/** Percent-encoding, JSON escapes and form encoding make a text longer; its own length is checked after decoding. */
const ENCODED_BODY_FACTOR = 3
/** Longer than the header section may be, so that the rule for page names refuses a long name. */
export const PARAMETER_MAX_CHARS = 20_000
/** As many as nginx keeps; a connection without a request takes a few kB. */
export const CONNECTIONS_MAX = 12_288

/**
 * https://fastify.dev/docs/latest/Reference/Server/
 * @typedef {(error: FastifyError, request: FastifyRequest, reply: any) => void} OnFrameworkError  for URLs that cannot
 *   be decoded
 * @typedef {{requestIds: (raw: IncomingMessage) => string, serverFactory: FastifyServerFactory}} Hooks
 * @param {Hooks & {config: Config, logTo: NodeJS.WritableStream, onFrameworkError: OnFrameworkError}} options
 */
export const serverOptions = ({ config, logTo, requestIds, serverFactory, onFrameworkError }) => ({
  // Standard output is for the one line that says where the wiki listens.
  logger: { level: config.LOG_LEVEL, stream: logTo },
  // Few requests log a line, so a logger for each would be wasted.
  childLoggerFactory: (/** @type {import('fastify').FastifyBaseLogger} */ logger) => logger,
  logController,
  genReqId: requestIds,
  serverFactory,
  bodyLimit: ENCODED_BODY_FACTOR * config.PAGE_MAX_BYTES,
  // nginx keeps idle connections for 600 s. It must close them first, because it may be sending a request on one.
  keepAliveTimeout: 660_000,
  requestTimeout: 30_000,
  // The first start on a large database waits for its indexes to be built.
  pluginTimeout: 300_000,
  return503OnClosing: false,
  trustProxy: false,
  routerOptions: { maxParamLength: PARAMETER_MAX_CHARS },
  schemaController: { compilersFactory: schemaCompilers },
  // A schema refuses what it does not describe; Ajv drops and converts nothing silently. A test validates the schemas
  // themselves, so a start need not.
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
