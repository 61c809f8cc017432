import neostandard from 'neostandard'

export default [
  ...neostandard({ noJsx: true, ignores: ['results/**', '.tools/**', '.venv/**', '.stevec/**'] }),
  {
    // k6 runs these files itself: its modules and globals are not Node's.
    files: ['loadgen/scenarios/**'],
    languageOptions: { globals: { __ENV: 'readonly', __VU: 'readonly', open: 'readonly' } },
    rules: { 'import-x/no-unresolved': 'off' }
  }
]
