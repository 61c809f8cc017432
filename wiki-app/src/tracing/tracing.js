import { createCommandSpans } from './command-spans.js'
import { createSpanExport } from './span-export.js'
import { createQueueSpans } from './queue-spans.js'
import { createRequestSpans } from './request-spans.js'
import { createSharedReads } from './shared-reads.js'
import { createSteps } from './steps.js'
import { createWaits } from './waits.js'

/** @import {RenderOptions} from '../markdown/renderer.js' */
/** @import {PageStore} from '../pages/store.js' */

const CHANGES = /** @type {const} */ (['save', 'remove', 'rename'])

/**
 * Traces by OpenTelemetry: a span for each sampled request, with its steps, its commands to the database and the work
 * that it leaves to the queue below it. What decorates a part of the wiki here has the part's own interface, so no part
 * knows of traces, and an untraced wiki runs without this module.
 * @param {import('../settings.js').Config} config
 * @param {(text: string) => void} warn
 */
export function createTracing (config, warn) {
  const { tracer, close } = createSpanExport(config, warn)
  const steps = createSteps(tracer)
  const requests = createRequestSpans(tracer, steps)

  return {
    around: requests.around,
    following: requests.following,
    observe: requests.observe,
    commands: createCommandSpans(steps),
    createLoader: createSharedReads(steps),
    waiting: createWaits(steps),
    ...createQueueSpans(tracer, steps),
    close,

    /**
     * @template {{render: (markdown: string, options?: RenderOptions) => Promise<any>}} Renderer
     * @param {Renderer} renderer @returns {Renderer}
     */
    rendering: (renderer) => ({
      ...renderer,
      render: (/** @type {string} */ markdown, /** @type {RenderOptions | undefined} */ options) =>
        steps.step('render', () => renderer.render(markdown, options))
    }),

    /** @param {PageStore} store @returns {PageStore} */
    changing (store) {
      const changes = CHANGES.map((kind) => [kind, (/** @type {any[]} */ ...args) =>
        steps.step(`${kind} page`, () => /** @type {any} */ (store[kind])(...args))])
      return { ...store, ...Object.fromEntries(changes) }
    }
  }
}

/** @typedef {ReturnType<typeof createTracing>} Tracing */
