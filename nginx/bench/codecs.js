// How long an nginx worker compresses, and serves nobody meanwhile: node nginx/bench/codecs.js
// Processor time of each coding by the size of the text: the project's own documentation, repeated where it is too
// short, with a number in each copy. The dictionary is the same text with one word less, at most 64 KiB.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { ROOT } from '@stevec/harness/config'
import { claimMachine } from '@stevec/harness/machine-lock'
import { runLua } from '../test/lua.js'

const SIZES_KIB = [5, 16, 64, 128, 512]
const DICTIONARY_MAX_BYTES = 65_536
const ROUNDS = 20
const CODINGS = ['br', 'zstd', 'gzip', 'dcb', 'dcz']

await claimMachine()
const folder = path.join(ROOT, 'docs')
const documentation = readdirSync(folder).filter((name) => name.endsWith('.md'))
  .map((name) => readFileSync(path.join(folder, name), 'utf8')).join('').replace(/[^\n -~]/g, '')
const longest = Array.from({ length: 1 + Math.ceil(Math.max(...SIZES_KIB) * 1024 / documentation.length) }, (_, copy) =>
  `${copy} ${documentation}`).join('')
const texts = SIZES_KIB.map((size) => longest.slice(0, size * 1024))

/** @type {{coding: string, size: number, ms: number[], bytes: number}[]} */
const results = runLua(`
  ngx = { log = function() end, NOTICE = 0 }
  package.loaded.settings = { compression = true }
  local codecs, hash = require("codecs"), ("h"):rep(32)
  local results = {}
  for _, text in ipairs(input.texts) do
    local dictionary = text:gsub("%w+", "", 1):sub(1, input.dictionary_bytes)
    for _, coding in ipairs(input.codings) do
      local ms, bytes = {}, 0
      for round = 1, codecs.has(coding) and input.rounds or 0 do
        local began = os.clock()
        bytes = #codecs.compress(coding, text, coding:sub(1, 2) == "dc" and dictionary or nil, hash)
        ms[round] = (os.clock() - began) * 1000
      end
      if bytes > 0 then results[#results + 1] = { coding = coding, size = #text, ms = ms, bytes = bytes } end
    end
  end
  return results`, { texts, codings: CODINGS, rounds: ROUNDS, dictionary_bytes: DICTIONARY_MAX_BYTES })

console.log('coding  KiB of text  bytes sent  ms of processor time: median, most')
for (const { coding, size, ms, bytes } of results) {
  const sorted = [...ms].sort((a, b) => a - b)
  const [median, most] = [sorted[ROUNDS / 2], sorted[ROUNDS - 1]].map((each) => each.toFixed(2).padStart(7))
  const [kib, sent] = [String(size / 1024).padStart(11), String(bytes).padStart(10)]
  console.log(`${coding.padEnd(6)}  ${kib}  ${sent}  ${median} ${most}`)
}
