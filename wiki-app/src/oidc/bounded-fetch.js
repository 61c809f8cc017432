const ANSWER_MAX_BYTES = 1_048_576

/** The provider cannot be reached, or its answer is no answer. */
export class ProviderAway extends TypeError {}

/**
 * As `fetch`, for answers of at most 1 MiB.
 * @param {string} url @param {import('openid-client').CustomFetchOptions} options
 * @returns {Promise<Response>} read to its end
 * @throws {ProviderAway} also for a longer answer @throws {DOMException} when the time is over
 */
export async function boundedFetch (url, options) {
  try {
    const response = await fetch(url, /** @type {RequestInit} */ (/** @type {unknown} */ (options)))
    const { status, headers } = response
    const body = await bytesOf(response)
    return new Response(body.length === 0 ? null : body, { status, headers })
  } catch (error) {
    throw error instanceof DOMException ? error : new ProviderAway('the provider cannot be reached', { cause: error })
  }
}

/** @param {Response} response @returns {Promise<Buffer<ArrayBuffer>>} @throws {Error} for too many */
async function bytesOf ({ body }) {
  const parts = []
  let bytes = 0
  for await (const part of body ?? []) {
    bytes += part.length
    if (bytes > ANSWER_MAX_BYTES) throw new Error(`the answer has more than ${ANSWER_MAX_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}
