import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ExportResultCode } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler, AlwaysOnSampler, BatchSpanProcessor, ParentBasedSampler, TraceIdRatioBasedSampler, TracerProvider
} from '@opentelemetry/sdk-trace'

/** @import {ReadableSpan, Sampler, SpanExporter} from '@opentelemetry/sdk-trace' */
/** @import {Config} from '../settings.js' */
/** @import {SAMPLERS} from './samplers.js' */

/** Spans that wait to be sent; more are lost. */
const WAITING_MAX = 2_048
const BATCH_MAX = 512
const SEND_AFTER_MS = 1_000
/** The exporter's own retries end with it. */
const SEND_MAX_MS = 5_000
/** The wiki's end waits no longer for its collector. */
const CLOSE_MAX_MS = 2_000
/** Of a value; the longest path of a page is shorter. */
const VALUE_MAX_CHARS = 2_048

/**
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/#general-sdk-configuration
 * @type {Record<typeof SAMPLERS[number], (ratio: number) => Sampler>}
 */
const SAMPLER_OF = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio) => new TraceIdRatioBasedSampler(ratio),
  parentbased_always_on: () => new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  parentbased_always_off: () => new ParentBasedSampler({ root: new AlwaysOffSampler() }),
  parentbased_traceidratio: (ratio) => new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) })
}

/**
 * Sends sampled spans to the collector in batches. A collector that is away costs spans, and a line in the log.
 * @param {Pick<Config, 'OTEL_EXPORTER_OTLP_ENDPOINT' | 'OTEL_EXPORTER_OTLP_HEADERS' | 'OTEL_SERVICE_NAME' |
 *   'OTEL_TRACES_SAMPLER' | 'OTEL_TRACES_SAMPLER_ARG'>} config
 * @param {(text: string) => void} warn
 */
export function createSpanExport (config, warn) {
  const url = `${config.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '')}/v1/traces`
  const exporter = new OTLPTraceExporter({
    url, headers: headersOf(config.OTEL_EXPORTER_OTLP_HEADERS), timeoutMillis: SEND_MAX_MS
  })
  const provider = new TracerProvider({
    sampler: SAMPLER_OF[config.OTEL_TRACES_SAMPLER](config.OTEL_TRACES_SAMPLER_ARG),
    resource: resourceFromAttributes({
      'service.name': config.OTEL_SERVICE_NAME,
      'service.instance.id': randomUUID(),
      'process.pid': process.pid
    }),
    spanLimits: { attributeValueLengthLimit: VALUE_MAX_CHARS },
    spanProcessors: [new BatchSpanProcessor({
      exporter: withNotes(exporter, warn),
      maxQueueSize: WAITING_MAX,
      maxExportBatchSize: BATCH_MAX,
      scheduledDelayMillis: SEND_AFTER_MS,
      exportTimeoutMillis: SEND_MAX_MS
    })]
  })
  return {
    tracer: provider.getTracer('stevec'),
    /** Sends what waits; what the collector does not take in time is lost. */
    async close () {
      const sent = provider.shutdown().catch(() => {})
      await Promise.race([sent, sleep(CLOSE_MAX_MS, undefined, { ref: false })])
    }
  }
}

/**
 * Logs the first failure, and the first success after failures.
 * @param {SpanExporter} exporter @param {(text: string) => void} warn @returns {SpanExporter}
 */
function withNotes (exporter, warn) {
  let failing = false
  return {
    export (/** @type {ReadableSpan[]} */ spans, done) {
      exporter.export(spans, (result) => {
        const failed = result.code !== ExportResultCode.SUCCESS
        if (failed && !failing) {
          // Its message may repeat what the collector has answered.
          const { code, name } = /** @type {Error & {code?: string | number}} */ (result.error ?? new Error('unknown'))
          warn(`the collector of traces takes none, and they are lost (${code ?? name}); ` +
            'see OTEL_EXPORTER_OTLP_ENDPOINT')
        }
        if (!failed && failing) warn('the collector of traces takes them again')
        failing = failed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => { await exporter.forceFlush?.() }
  }
}

/**
 * https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables
 * @param {string | undefined} list  name=value, with commas between, values percent-encoded
 * @returns {Record<string, string>}
 */
function headersOf (list = '') {
  return Object.fromEntries(list.split(',').filter(Boolean).map((pair) => {
    const equals = pair.indexOf('=')
    return [pair.slice(0, equals).trim(), decodeURIComponent(pair.slice(equals + 1).trim())]
  }))
}
