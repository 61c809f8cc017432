const MARK = /^\[([ xX])\][ \u00A0]/

/**
 * `- [ ] to do`, `- [x] done`
 * @param {import('markdown-it').MarkdownIt} markdownIt
 */
export function taskLists (markdownIt) {
  markdownIt.core.ruler.push('task_lists', ({ tokens, Token }) => {
    for (const [index, { children }] of tokens.entries()) {
      if (
        children === null ||
        tokens[index - 1].type !== 'paragraph_open' ||
        tokens[index - 2]?.type !== 'list_item_open'
      ) {
        continue
      }
      const [first] = children
      const mark = first?.type === 'text' && MARK.exec(first.content)
      if (!mark) continue
      first.content = first.content.slice(mark[0].length)
      const box = new Token('task_box', 'input', 0)
      box.attrs = [['type', 'checkbox'], ['disabled', '']]
      if (mark[1] !== ' ') box.attrSet('checked', '')
      const space = new Token('text', '', 0)
      space.content = ' '
      tokens[index - 2].attrs = [['class', 'task']]
      children.unshift(new Token('label_open', 'label', 1), box, space)
      children.push(new Token('label_close', 'label', -1))
    }
  })
}
