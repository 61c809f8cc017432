import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { readForm } from '../src/writing/form.js'

const read = (/** @type {string} */ body) => ({ ...readForm(Buffer.from(body)) })

/**
 * Returns what Node's own parser reads. It would drop a "?" at the start, hence the "&" before the body.
 * @param {string} body
 */
function expected (body) {
  /** @type {Record<string, string | string[]>} */
  const fields = Object.create(null)
  for (const [name, value] of new URLSearchParams(`&${body}`)) {
    fields[name] = name in fields ? [fields[name], value].flat() : value
  }
  return { ...fields }
}

test('form data is parsed as in the URL standard, up to 100 fields', () => {
  assert.deepEqual(read('a=b&c=d%20e+f&&g&=h&i=j=k'), { a: 'b', c: 'd e f', g: '', '': 'h', i: 'j=k' })
  assert.deepEqual(read('a=1&a=2&a=3'), { a: ['1', '2', '3'] })
  assert.deepEqual(read('content=%C4%8D+%f0%9f%90%8C%'), { content: 'č 🐌%' })
  assert.deepEqual(Object.keys(readForm(Buffer.from('__proto__=a&constructor=b'))), ['__proto__', 'constructor'])
  assert.deepEqual(read(''), {})
  assert.equal(Object.keys(read(Array.from({ length: 1_000 }, (_, field) => `f${field}=`).join('&'))).length, 100)
})

test('any ASCII form body is parsed as URLSearchParams parses it', () => {
  const piece = fc.oneof(
    fc.constantFrom('&', '=', '+', '%', '%2', '%41', '%c3%a9', '%f0%9f%90%8c', '%ff', '%zz', '%4%31', 'a', ' ', '\0'),
    fc.string({ unit: 'binary-ascii', maxLength: 4 })
  )
  fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
    const body = pieces.join('')
    assert.deepEqual(read(body), expected(body))
  }), { numRuns: 2_000 })
})
