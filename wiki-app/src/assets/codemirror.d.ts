// What the editor takes of CodeMirror: bin/codemirror.js bundles it, and tsc reads its types.
export { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
export {
  deleteMarkupBackward, insertNewlineContinueMarkupCommand, markdownLanguage
} from '@codemirror/lang-markdown'
export { syntaxHighlighting } from '@codemirror/language'
export { search, searchKeymap } from '@codemirror/search'
export { EditorState } from '@codemirror/state'
export { EditorView, keymap } from '@codemirror/view'
export { tagHighlighter, tags } from '@lezer/highlight'
export { StyleModule } from 'style-mod'
