/**
 * The same on every answer. No page has a script or a style of its own, so the policy can forbid both.
 * https://owasp.org/www-project-secure-headers/
 */
export const SECURITY_HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff'
}
