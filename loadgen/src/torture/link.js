const API_MAX_MS = 10_000

/**
 * A link of toxiproxy that can be cut: connections stay open, and nothing passes. Dropped bytes are not resent, so
 * `join` closes the connections.
 * @param {string} api  of toxiproxy
 * @param {string} name  of the link
 */
export function createLink (api, name) {
  const proxy = `/proxies/${encodeURIComponent(name)}`
  /** @param {string} method @param {string} path @param {unknown} [body] */
  async function ask (method, path, body) {
    const response = await fetch(api + path, {
      method,
      signal: AbortSignal.timeout(API_MAX_MS),
      ...body === undefined ? {} : { body: JSON.stringify(body) }
    })
    if (!response.ok) throw new Error(`toxiproxy refused ${method} ${path}: ${await response.text()}`)
  }
  return {
    async cut () {
      // https://github.com/Shopify/toxiproxy#timeout: with 0, data is dropped until the toxic is removed.
      for (const stream of ['upstream', 'downstream']) {
        await ask('POST', `${proxy}/toxics`, { name: stream, type: 'timeout', stream, attributes: { timeout: 0 } })
      }
    },
    async join () {
      await ask('POST', proxy, { enabled: false })
      for (const stream of ['upstream', 'downstream']) await ask('DELETE', `${proxy}/toxics/${stream}`)
      await ask('POST', proxy, { enabled: true })
    }
  }
}
