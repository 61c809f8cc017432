-- Formulas so that the wiki takes them for formulas: docs/decisions/0079, src/markdown/dollars.js.
local elements = require("elements")

local _M = {}

-- A command that shows nothing. With it at the start, a formula may stand beside letters, and contain words.
local COMMAND = "\\relax "

local function one_line(text)
  return (text:gsub("%s*\n%s*", " "):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function is_odd(text)
  return text == "" or text:find("[`$]") or text:match("\\$") or text:find("%f[%%\\]%%")
end

-- `beside`: true when a letter, a digit or a bracket is directly before or after.
-- Returns an inline.
function _M.inline(formula, beside)
  local text = one_line(formula.text)
  if is_odd(text) then return elements.code(text) end
  text = text:gsub("%](%()", "] %1"):gsub("%]%[", "] ["):gsub("%[%[", "[ ["):gsub("://", ": //")
    :gsub("</", "< /"):gsub("<!%-%-", "<! --")
  local display = formula.mathtype.t == "DisplayMath"
  local is_plain = text:find("[%s%(%)%[%]{}]") and not text:find("\\%a")
  if not text:match("^[\\_^]") and (beside or is_plain) then text = COMMAND .. text end
  return elements.raw(display and "$$" .. text .. "$$" or "$" .. text .. "$")
end

-- Returns a block.
function _M.block(formula)
  local text = one_line(formula.text)
  if is_odd(text) then return elements.raw_block("```math\n" .. formula.text:gsub("`", "'") .. "\n```") end
  return elements.raw_block("$$" .. text .. "$$")
end

return _M
