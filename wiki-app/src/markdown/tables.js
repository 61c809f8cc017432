/**
 * The security policy forbids style attributes.
 * @param {import('markdown-it').MarkdownIt} markdownIt
 */
export function tables (markdownIt) {
  for (const rule of ['th_open', 'td_open']) {
    markdownIt.renderer.rules[rule] = (tokens, index, options, _env, self) => {
      const align = /^text-align:(\w+)$/.exec(String(tokens[index].attrGet('style')))?.[1]
      tokens[index].attrs = align ? [['class', align]] : null
      return self.renderToken(tokens, index, options)
    }
  }
}
