import { t } from '../language.js'
import { readableMoment } from '../readable.js'
import { HTML, renderFor } from '../views.js'
import { reportOf } from './report.js'
import { createStackReader } from './stack-file.js'

/** @import {Report, WikiProcess} from './report.js' */
/** @import {Services} from '../services.js' */

/**
 * For people and for programs: what runs, since when, and the last failover. Both answer 200 while the wiki answers at
 * all, without asking the database. Probes are not visitors, so the counter leaves them out, as it does /healthz.
 * @typedef {Pick<Services, 'database' | 'redis' | 'purges' | 'queue' | 'words' | 'deferred' | 'digests'>} Known
 * @type {import('fastify').FastifyPluginAsync<Known &
 *   {processes: () => WikiProcess[], file?: string}>}
 */
export async function statusRoutes (app, {
  database, redis, purges, queue, words, deferred, digests, processes, file
}) {
  const config = { counted: false, database: false }
  const readStack = file === undefined ? async () => undefined : createStackReader(file)
  const startedAt = new Date()

  async function report () {
    const shared = redis?.state()
    const seen = {
      processes: processes(),
      database: database.state(),
      redis: shared && { ...shared, since: shared.since ?? startedAt },
      purges: purges?.state(),
      queue: queue.state(),
      mail: digests?.state(),
      search: { ...words.known(), since: startedAt },
      deferred: deferred && { strategy: deferred.strategy, settledAt: deferred.settledAt(), ...deferred.waiting() }
    }
    return reportOf({ ...seen, stack: await readStack() }, new Date())
  }

  app.get('/status.json', { config }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return report()
  })

  app.get('/status', { config }, async (request, reply) => {
    reply.header('cache-control', 'no-store').type(HTML)
    return renderFor(request, 'status', shown(await report()))
  })
}

/** @param {Report['status']} status */
function titleOf (status) {
  if (status === 'ok') return t('Everything works')
  return status === 'degraded' ? t('Something does not work') : t('The wiki cannot show its pages')
}

/** @param {Report} report */
const shown = (report) => ({ title: titleOf(report.status), moment: readableMoment, ...report })
