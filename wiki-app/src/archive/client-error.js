/** @param {unknown} error @returns {error is Error} the fault of the request, so its message is for its author */
export function isForClient (error) {
  const { statusCode = 500 } = /** @type {{statusCode?: number}} */ (error)
  return statusCode >= 400 && statusCode < 500
}
