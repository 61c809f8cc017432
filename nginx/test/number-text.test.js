import assert from 'node:assert/strict'
import test from 'node:test'
import { createRandom } from '@stevec/harness/random'
import { runLua } from './lua.js'

test('numbers are written as string.format and bit.tohex write them', () => {
  const random = createRandom(1)
  const powers = Array.from({ length: 10 }, (_, power) => 10 ** power)
  const numbers = [0, ...powers, ...powers.map((power) => power - 1), 2 ** 31, 2 ** 31 - 1,
    ...Array.from({ length: 20_000 }, () => Math.floor(2 ** (31 * random())))]
  const wrong = runLua(`
    local ffi, texts, wrong = require("ffi"), require("number_text"), {}
    local buffer = ffi.new("uint8_t[10]")
    for _, number in ipairs(input) do
      local from, bytes = texts.decimal(buffer, number)
      local text = ffi.string(from, bytes)
      texts.hex(buffer, number)
      if text ~= string.format("%d", number) or ffi.string(buffer, 8) ~= bit.tohex(number) then
        wrong[#wrong + 1] = { number, text, ffi.string(buffer, 8) }
      end
    end
    return #wrong > 0 and wrong or "none"
  `, numbers)
  assert.equal(wrong, 'none')
})
