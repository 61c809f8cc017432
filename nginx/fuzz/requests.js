import fc from 'fast-check'

/** The keyed headers, which an application may use for its response; see src/request-headers.js. */
export const KEYED = Object.freeze([
  'x-forwarded-host', 'x-host', 'x-forwarded-scheme', 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-prefix',
  'x-forwarded-server', 'x-original-url', 'x-rewrite-url', 'forwarded',
  'x-http-method-override', 'x-http-method', 'x-method-override'
])
const OTHERS = Object.freeze(['origin', 'accept-encoding', 'authorization'])
const CODINGS = Object.freeze([
  'br', 'gzip', 'zstd', 'deflate', 'x-gzip', 'dcb', 'dcz', 'compress', 'identity', '*', 'brotli', 'GZIP', 'Br'
])

/**
 * @typedef {object} Request
 * @property {string} method
 * @property {string | null} host  null: the edge's own
 * @property {boolean} absolute  the target is a whole URL
 * @property {string} query  of the target, with its question mark
 * @property {[name: string, value: string][]} lines  of the header, in their order
 */

const name = fc.constantFrom(...KEYED, ...OTHERS, ...OTHERS)
/** Spellings of a name; nginx drops names with an underscore. */
const spelled = fc.tuple(name, fc.constantFrom(0, 0, 0, 1, 2, 3)).map(([text, how]) =>
  [text, text.toUpperCase(), text.replace(/^./, (letter) => letter.toUpperCase()), text.replaceAll('-', '_')][how])

const only = (/** @type {any} */ line) => [line]

/** Text that looks like the separators between the parts of a key. */
const joint = fc.tuple(
  fc.constantFrom('\x01', '\x02', ',', ', ', '\t', '', '|'),
  name,
  fc.constantFrom('=', '=1:', ':', ': ')
)
  .map((parts) => parts.join(''))
const word = fc.constantFrom('', '', 'a', 'b', 'a, b', 'a,b', 'evil', 'https://a.example', '\xff')
const value = fc.oneof({ weight: 5, arbitrary: word }, fc.tuple(word, joint, word).map((parts) => parts.join('')))
const quality = fc.constantFrom('', '', '', ';q=0', '; q=0.000', ';q=0.5', ' ;q=1', ';q=0.001')
const codings = fc.array(
  fc.tuple(fc.constantFrom(...CODINGS), quality).map((parts) => parts.join('')),
  { maxLength: 4 }
)
  .chain((list) => fc.constantFrom(', ', ',', ' ,\t').map((comma) => list.join(comma)))
const listed = fc.array(
  fc.oneof(name, fc.constantFrom('close', 'keep-alive', 'host', 'content-length')),
  { minLength: 1, maxLength: 3 }
)
  .map((names) => names.join(', '))

/** One header line, or two with one name: the first may hide the second. @type {fc.Arbitrary<[string, string][]>} */
const group = fc.oneof(
  {
    weight: 6,
    arbitrary: spelled
      .chain((text) => fc.tuple(fc.constant(text), /^accept.encoding$/i.test(text) ? codings : value))
      .map(only)
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant('Connection'), listed).map(only) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('Accept-Encoding'), codings).map(only) },
  {
    weight: 2,
    arbitrary: fc.tuple(name, fc.constantFrom('', '', 'a'), value)
      .map(([text, one, other]) => /** @type {any} */ ([[text, one], [text, other]]))
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      ['Content-Length', '0'],
      ['TE', 'trailers'],
      ['Cookie', 'a=1'],
      ['Pragma', 'x'],
      ['Range', '']
    ).map(only)
  }
)
const lines = fc.array(group, { maxLength: 4 }).map((groups) => groups.flat())

/** `u` is a parameter that some responses ignore by No-Vary-Search. */
const query = fc.oneof(
  { weight: 2, arbitrary: fc.constant('') },
  fc.array(fc.constantFrom('a=1', 'a=2', 'b', 'u=1', 'u', '%75=2', '%61=1', 'ua', 'a', ''), { maxLength: 4 })
    .map((parameters) => `?${parameters.join('&')}`)
)

export const request = /** @type {fc.Arbitrary<Request>} */ (fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  host: fc.constantFrom(null, null, null, 'a.example', 'A.example', 'a.example:80', '127.0.0.1'),
  absolute: fc.constantFrom(false, false, false, true),
  query,
  lines
}))

/** Two headers with a value each, or one value that looks like both. @type {fc.Arbitrary<[string, string][][]>} */
const spliced = fc.tuple(
  fc.subarray([...KEYED], { minLength: 2, maxLength: 2 }),
  word,
  word,
  fc.constantFrom('', '\x01', '\x02', ','),
  fc.constantFrom('=', '=1:', ': ')
)
  .map(([[one, other], first, second, before, after]) => [
    [[one, first], [other, second]],
    [[one, `${first}${before}${other}${after}${second}`]]
  ])

/**
 * Two requests for one address that differ in a line or two, or not at all.
 * @type {fc.Arbitrary<[Request, Request]>}
 */
export const pair = fc.oneof(
  fc.tuple(request, request),
  fc.tuple(request, group).map(([first, more]) => [first, { ...first, lines: [...first.lines, ...more] }]),
  request.map((first) => [first, { ...first, lines: first.lines.slice(1) }]),
  fc.tuple(request, query).map(([first, other]) => [first, { ...first, query: other }]),
  fc.tuple(request, spliced).map(([first, ends]) => ends.map((end) => ({ ...first, lines: [...first.lines, ...end] })))
).chain(([first, second]) => fc.constantFrom([first, second], [second, first]))

/**
 * @param {Request} request
 * @param {string} path
 * @param {string} edgeHost
 * @returns {string} its bytes, as Latin-1
 */
export function bytesOf ({ method, host, absolute, query: search, lines: header }, path, edgeHost) {
  const said = host ?? edgeHost
  const target = `${absolute ? `http://${said}` : ''}${path}${search}`
  return [
    `${method} ${target} HTTP/1.1`,
    `Host: ${said}`,
    ...header.map((parts) => parts.join(': ')),
    '',
    ''
  ].join('\r\n')
}

/**
 * Returns whether a client that sends this request can decode a coding. Without Accept-Encoding it counts as one that
 * decodes none, although RFC 9110 §12.5.3 allows any coding then.
 * @param {Request} request
 * @param {string} coding
 */
export function canDecode ({ lines: header }, coding) {
  if (coding === 'identity') return true
  const said = header
    .filter(([text]) => text.toLowerCase() === 'accept-encoding')
    .flatMap(([, text]) => text.split(','))
  return said.some((member) => {
    const [text, ...parameters] = member.toLowerCase().split(';').map((part) => part.trim())
    return (text === coding || text === '*') && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter))
  })
}
