const NAME = '[\\p{L}\\p{N}_-]+'
const CLASS_NAME = `${NAME}(?:~\\w+~)?`
const STATE = '(?:\\[\\*\\]|[\\p{L}\\w-]+)'
const ONE_OR_MORE = '(?:\\|\\||\\|o|o\\||\\}\\||\\|\\{|\\}o|o\\{)'

/** @param {string[]} patterns */
const oneOf = (...patterns) => new RegExp(`^(?:${patterns.join('|')})$`, 'u')

/**
 * Lines that the library draws, apart from flowcharts: it drops all others, and part of the diagram would be missing.
 * @type {Record<string, {line: RegExp, opens?: RegExp, inside?: RegExp}>}
 */
const KNOWN = {
  'State diagram': {
    line: oneOf(
      'direction\\s+(?:TD|TB|LR|BT|RL)', '\\}', 'state\\s+(?:"[^"]+"\\s+as\\s+)?[\\p{L}\\w]+\\s*\\{',
      'state\\s+"[^"]+"\\s+as\\s+[\\p{L}\\w]+', `${STATE}\\s*-->\\s*${STATE}(?:\\s*:\\s*.+)?`,
      '[\\p{L}\\w-]+\\s*:\\s*.+'
    )
  },
  'Sequence diagram': {
    line: oneOf(
      '(?:participant|actor)\\s+\\S+(?:\\s+as\\s+.+)?', '[Nn]ote\\s+(?:left of|right of|over)\\s+[^:]+:\\s*.+',
      '(?:loop|alt|opt|par|critical|break|rect|else|and)(?:\\s.*)?', 'end',
      '[^\\s<>:]+?\\s*--?(?:>>?|[)x])\\s*[+-]?[^\\s<>:]+\\s*:\\s*.+'
    )
  },
  'Class diagram': {
    line: oneOf(
      `namespace\\s+${NAME}\\s*\\{`, '\\}', `class\\s+${CLASS_NAME}`, `${NAME}\\s*:\\s*.+`,
      `${NAME}\\s+(?:"[^"]*"\\s+)?` +
        '(?:<\\|--|<\\|\\.\\.|\\*--|o--|-->|--\\*|--o|--\\|>|\\.\\.>|\\.\\.\\|>|<--|<\\.\\.|--)' +
        `\\s+(?:"[^"]*"\\s+)?${NAME}(?:\\s*:\\s*.+)?`
    ),
    opens: oneOf(`class\\s+${CLASS_NAME}\\s*\\{`),
    inside: /^[^{}]+$/
  },
  'Diagram of entities': {
    line: oneOf(`${NAME}\\s+${ONE_OR_MORE}(?:--|\\.\\.)${ONE_OR_MORE}\\s+${NAME}\\s*:\\s*.+`),
    opens: oneOf(`${NAME}\\s*\\{`),
    inside: /^\S+\s+\S+/
  }
}

/** @param {string} kind @param {string[]} lines @returns {string | undefined} the first line that is not known */
export function unknownIn (kind, lines) {
  const { line: known, opens, inside } = KNOWN[kind]
  let isInside = false
  return lines.find((line) => {
    if (isInside) {
      isInside = line !== '}'
      return isInside && !inside?.test(line)
    }
    isInside = opens?.test(line) ?? false
    return !isInside && !known.test(line)
  })
}
