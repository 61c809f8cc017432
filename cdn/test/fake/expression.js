// Parses the part of Cloudflare's rules language that cache rules use.
// https://developers.cloudflare.com/ruleset-engine/rules-language/
const FIELDS = {
  'http.host': 'string',
  'http.request.uri': 'string',
  'http.request.uri.path': 'string',
  'http.request.uri.query': 'string',
  'http.request.uri.path.extension': 'string',
  'http.request.full_uri': 'string',
  'http.request.method': 'string',
  'http.cookie': 'string',
  'http.user_agent': 'string',
  'http.referer': 'string',
  ssl: 'boolean'
}
const STRING_OPERATORS = new Set([
  'eq', '==', 'ne', '!=', 'contains', 'matches', '~', 'in', 'wildcard', 'lt', 'le', 'gt', 'ge'
])
const PREDICATES = new Set(['starts_with', 'ends_with'])
const STRING_FUNCTIONS = new Set(['lower', 'upper', 'url_decode'])
const LENGTH_MAX = 4096
const DEPTH_MAX = 50

const TOKEN =
  /\s*(?:("(?:[^"\\]|\\.)*")|([a-z_][a-z0-9_]*(?:\.[a-z_][a-z0-9_]*)*)|(==|!=|&&|\|\||\^\^|[(){},!~])|(\d+))/y

/**
 * @param {unknown} text
 * @returns {string | null} what is wrong with an expression, in Cloudflare's wording; null if it is valid
 */
export function complaintAboutExpression (text) {
  if (typeof text !== 'string' || text.trim() === '') return 'expression must not be empty'
  if (text.length > LENGTH_MAX) return `expression is longer than ${LENGTH_MAX} characters`
  try {
    parse(text)
    return null
  } catch (error) {
    return `Filter parsing error: ${/** @type {Error} */ (error).message}`
  }
}

/** @param {string} text */
function parse (text) {
  /** @type {{kind: 'string' | 'name' | 'sign' | 'number', text: string, at: number}[]} */
  const tokens = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex
    const match = TOKEN.exec(text)
    if (match === null) throw new Error(`unexpected character at ${at}`)
    const [, string, name, sign, number] = match
    tokens.push(
      string !== undefined
        ? { kind: 'string', text: string, at }
        : name !== undefined
          ? { kind: 'name', text: name, at }
          : sign !== undefined
            ? { kind: 'sign', text: sign, at }
            : { kind: 'number', text: number, at }
    )
  }
  let index = 0
  const peek = (/** @type {string} */ wanted) => tokens[index]?.text === wanted && tokens[index].kind !== 'string'
  const accept = (/** @type {string[]} */ ...wanted) => wanted.some(peek) && ++index > 0
  const expect = (/** @type {string} */ wanted) => {
    if (!accept(wanted)) throw new Error(`expected ${wanted} at ${tokens[index]?.at ?? text.length}`)
  }
  const string = () => {
    if (tokens[index++]?.kind !== 'string') {
      throw new Error(`expected a string at ${tokens[index - 1]?.at ?? text.length}`)
    }
  }

  /** @param {number} depth */
  const or = (depth) => {
    if (depth > DEPTH_MAX) throw new Error('nested too deeply')
    do unary(depth)
    while (accept('or', '||', 'and', '&&', 'xor', '^^'))
  }
  /** @param {number} depth */
  const unary = (depth) => {
    if (accept('not', '!')) return unary(depth + 1)
    if (accept('(')) {
      or(depth + 1)
      return expect(')')
    }
    if (accept('true', 'false')) return
    comparison()
  }
  const comparison = () => {
    const token = tokens[index]
    if (token?.kind !== 'name') throw new Error(`expected a field at ${token?.at ?? text.length}`)
    if (PREDICATES.has(token.text)) {
      index++
      expect('(')
      value()
      expect(',')
      string()
      return expect(')')
    }
    if (value() === 'boolean') return
    const operator = tokens[index++]
    if (operator === undefined || !STRING_OPERATORS.has(operator.text)) {
      throw new Error(`expected an operator at ${operator?.at ?? text.length}`)
    }
    if (operator.text !== 'in') return string()
    expect('{')
    do string()
    while (!peek('}') && index < tokens.length)
    expect('}')
  }
  /** @returns {string} type */
  const value = () => {
    const token = tokens[index++]
    if (token?.kind !== 'name') throw new Error(`expected a field at ${token?.at ?? text.length}`)
    if (STRING_FUNCTIONS.has(token.text)) {
      expect('(')
      value()
      expect(')')
      return 'string'
    }
    const type = /** @type {Record<string, string>} */ (FIELDS)[token.text]
    if (type === undefined) throw new Error(`unknown identifier ${token.text}`)
    return type
  }
  or(0)
  if (index < tokens.length) throw new Error(`unexpected ${tokens[index].text} at ${tokens[index].at}`)
}
