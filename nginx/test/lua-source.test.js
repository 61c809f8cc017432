import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const LUA = new URL('../lua/', import.meta.url)
/** The limits that eslint.config.js sets for JavaScript. */
const COLUMNS_MAX = 120
const FILE_LINES_MAX = 300
const FUNCTION_LINES_MAX = 60
/** A function that does not end on its first line. */
const FUNCTION = /^( *)(?!--).*\bfunction\b *[\w.]*\([\w, ]*\)$/

/**
 * @param {string} text  of a Lua file
 * @returns {string[]} what is too long in it
 */
function findLong (text) {
  const lines = text.trimEnd().split('\n')
  const long = lines.length > FILE_LINES_MAX ? [`the file: ${lines.length} lines`] : []
  for (const [index, line] of lines.entries()) {
    if ([...line].length > COLUMNS_MAX) long.push(`line ${index + 1}: ${[...line].length} columns`)
    const indent = FUNCTION.exec(line)?.[1]
    if (indent === undefined) continue
    const length = lines.slice(index).findIndex((other) => other.startsWith(`${indent}end`)) + 1
    if (length === 0 || length > FUNCTION_LINES_MAX) long.push(`${line.trim()}: ${length} lines`)
  }
  return long
}

test('lines, functions and files of Lua stay within their maximum lengths', () => {
  const long = readdirSync(LUA).flatMap((file) =>
    findLong(readFileSync(new URL(file, LUA), 'utf8')).map((what) => `${file}, ${what}`))
  assert.deepEqual(long, [])
})

test('findLong finds lines, functions and files that are too long', () => {
  const body = '  x()\n'.repeat(FUNCTION_LINES_MAX - 1)
  assert.deepEqual(findLong(`local function f(a)\n${body}end\n`), ['local function f(a): 61 lines'])
  assert.deepEqual(findLong(`  y = g(function()\n  ${body}  end)\n`), ['y = g(function(): 61 lines'])
  assert.deepEqual(findLong(`function _M.f()\n${body.slice(6)}end\n`), [])
  assert.deepEqual(findLong(`${'x'.repeat(COLUMNS_MAX + 1)}\n`), ['line 1: 121 columns'])
  assert.deepEqual(findLong('x()\n'.repeat(FILE_LINES_MAX + 1)), ['the file: 301 lines'])
})
