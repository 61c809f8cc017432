const MARK = /^\[([ xX])\][ \u00A0]/

/**
 * `- [ ] to do`, `- [x] done`. The number of a box is that of its line in the Markdown, from 1.
 * @param {import('markdown-it').MarkdownIt} markdownIt
 */
export function taskLists (markdownIt) {
  markdownIt.core.ruler.push('task_lists', ({ tokens, Token }) => {
    for (const [index, { children, content, map }] of tokens.entries()) {
      if (
        children === null || map === null ||
        tokens[index - 1].type !== 'paragraph_open' ||
        tokens[index - 2]?.type !== 'list_item_open'
      ) {
        continue
      }
      const [first] = children
      // Not an escaped one, either.
      const mark = first?.type === 'text' && MARK.test(content) && MARK.exec(first.content)
      if (!mark) continue
      first.content = first.content.slice(mark[0].length)
      const box = new Token('task_box', 'input', 0)
      box.attrs = [['type', 'checkbox'], ['disabled', '']]
      if (mark[1] !== ' ') box.attrSet('checked', '')
      box.attrSet('data-task', String(map[0] + 1))
      const space = new Token('text', '', 0)
      space.content = ' '
      tokens[index - 2].attrs = [['class', 'task']]
      children.unshift(new Token('label_open', 'label', 1), box, space)
      children.push(new Token('label_close', 'label', -1))
    }
  })
}
