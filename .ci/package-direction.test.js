import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Linter } from 'eslint'
import { packageDirection } from './package-direction.js'

const CONFIG = /** @type {any} */ ({
  plugins: { stevec: { rules: { 'package-direction': packageDirection } } },
  rules: { 'stevec/package-direction': 'error' }
})

/** @type {[file: string, text: string, problem: RegExp | null][]} */
const CASES = [
  ['wiki-app/test/a.js', "import { isFree } from '@stevec/harness/ports'", null],
  ['wiki-app/test/a.js', "import { other } from '../src/app.js'", null],
  ['wiki-app/test/a.js', 'import { isFree } from "../../harness/src/ports.js"', /leaves the package/],
  [
    'wiki-app/src/pages/a.js',
    "const { startStack } = await import('../../../loadgen/src/stack.js')",
    /leaves the package/
  ],
  ['harness/src/a.js', "import { render } from '@stevec/nginx'", /harness may not import nginx/],
  ['nginx/test/a.js', "/** @type {import('@stevec/cdn/edge').Edge} */", /nginx may not import cdn/],
  ['.ci/a.js', 'import { ROOT } from "../harness/src/config.js"', null]
]

for (const [file, text, problem] of CASES) {
  test(`${file}: ${text}`, () => {
    const [found] = new Linter({ cwd: '/repository' }).verify(text, CONFIG, { filename: `/repository/${file}` })
    if (problem === null) assert.equal(found, undefined)
    else assert.match(found.message, problem)
  })
}
