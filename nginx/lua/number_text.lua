-- Writes numbers as text into bytes: on the fast path each string of Lua costs a look into a table of all strings,
-- which is rarely in the processor's cache when several workers share a core. No branches and no loops: LuaJIT compiles
-- neither well.
local bit = require("bit")
local ffi = require("ffi")

local floor, format = math.floor, string.format

local _M = {}

local DIGITS, HEX_DIGITS = 10, 8
--- The most that is written. RFC 9111 §1.2.2: no number of seconds has to be larger.
_M.MAX = 2 ^ 31

local function unrolled(arguments, lines, constants)
  local code = "local floor, arshift, band, rshift, HEX = ... return function(" .. arguments .. ") "
  local chunk = assert(loadstring(code .. table.concat(lines, " ") .. " end"))
  return chunk(floor, bit.arshift, bit.band, bit.rshift, constants)
end

local write_decimal = (function()
  local lines, count = {}, { "1" }
  for digit = DIGITS - 1, 0, -1 do
    lines[#lines + 1] = format("local q%d = floor(n / 10)", digit)
    lines[#lines + 1] = format("to[%d] = 48 + n - 10 * q%d n = q%d", digit, digit, digit)
  end
  for digit = 1, DIGITS - 1 do count[#count + 1] = format("1 + arshift(given - %d, 31)", 10 ^ digit) end
  table.insert(lines, 1, "local given = n")
  lines[#lines + 1] = "return " .. table.concat(count, " + ")
  return unrolled("to, n", lines)
end)()

local write_hex = (function()
  local lines, digits = {}, ffi.new("uint8_t[16]")
  ffi.copy(digits, "0123456789abcdef", 16)
  for digit = HEX_DIGITS - 1, 0, -1 do
    lines[#lines + 1] = format("to[%d] = HEX[band(rshift(n, %d), 15)]", digit, 4 * (HEX_DIGITS - 1 - digit))
  end
  return unrolled("to, n", lines, digits)
end)()

--- Writes a whole number, 0 to MAX, to the end of the ten bytes at `to`. Returns where it begins, and its bytes.
function _M.decimal(to, number)
  local bytes = write_decimal(to, number)
  return to + (DIGITS - bytes), bytes
end

--- Writes the lower 32 bits of a number as eight hexadecimal digits.
_M.hex = write_hex

return _M
