import neostandard from 'neostandard'
import { packageDirection } from './.ci/package-direction.js'

const BROWSER_GLOBALS = [
  'addEventListener', 'caches', 'document', 'getComputedStyle', 'location', 'localStorage', 'matchMedia', 'navigator',
  'sessionStorage', 'window', 'ClipboardEvent', 'CSSStyleSheet', 'DataTransfer', 'DOMParser', 'DragEvent', 'Event',
  'File', 'FileList', 'XMLHttpRequest'
]

export default [
  ...neostandard({
    noJsx: true,
    ignores: [
      'results/**', '.tools/**', '.venv/**', '.stevec/**', 'arm-image/build/**', 'deploy/build/**',
      'wiki-app/src/assets/codemirror.js'
    ]
  }),
  {
    plugins: { stevec: { rules: { 'package-direction': packageDirection } } },
    rules: {
      'stevec/package-direction': 'error',
      // A message or a pattern may be longer than the line that it stands on.
      'max-len': ['error', {
        code: 120, ignoreUrls: true, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true
      }]
    }
  },
  {
    files: ['**/*.js'],
    ignores: ['**/test/**'],
    rules: {
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }]
    }
  },
  {
    files: ['wiki-app/src/assets/**', 'wiki-app/test/browser/**', 'analysis/stevec_report/templates/**'],
    languageOptions: { globals: Object.fromEntries(BROWSER_GLOBALS.map((name) => [name, 'readonly'])) }
  },
  {
    // The wiki puts the text of `t('…')` in its place when it serves these.
    files: ['wiki-app/src/assets/**'],
    languageOptions: { globals: { t: 'readonly' } }
  },
  {
    // k6 runs these files itself: its modules and globals are not Node's.
    files: ['loadgen/scenarios/**', '**/*.k6.js'],
    languageOptions: { globals: { __ENV: 'readonly', __VU: 'readonly', open: 'readonly' } },
    rules: { 'import-x/no-unresolved': 'off' }
  }
]
