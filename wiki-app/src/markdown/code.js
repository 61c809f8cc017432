import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import c from 'highlight.js/lib/languages/c'
import cpp from 'highlight.js/lib/languages/cpp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import kotlin from 'highlight.js/lib/languages/kotlin'
import markdown from 'highlight.js/lib/languages/markdown'
import nginx from 'highlight.js/lib/languages/nginx'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import r from 'highlight.js/lib/languages/r'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

const LANGUAGES = {
  bash,
  c,
  cpp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  markdown,
  nginx,
  php,
  python,
  r,
  ruby,
  rust,
  sql,
  typescript,
  xml,
  yaml
}
const CODE_MAX_BYTES = 50_000
/** The grammars take quadratic time on a long line, or on many words without a sign between. */
const LINE_MAX_CHARS = 300
const WORDS_MAX_CHARS = 500
const SIGN = /[^\p{L}\p{N}\s_$]/u

for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)

/**
 * @param {string} code @param {string} language  as the author named it
 * @returns {string} HTML; '' without colours
 */
export function highlight (code, language) {
  if (hljs.getLanguage(language) === undefined || Buffer.byteLength(code) > CODE_MAX_BYTES) return ''
  if (hasLonger(code.split('\n'), LINE_MAX_CHARS) || hasLonger(code.split(SIGN), WORDS_MAX_CHARS)) return ''
  return hljs.highlight(code, { language, ignoreIllegals: true }).value
}

/** @param {string[]} parts @param {number} max */
const hasLonger = (parts, max) => parts.some(({ length }) => length > max)
