-- Inlines whose Markdown depends on what is beside them.
local elements = require("elements")
local maths = require("maths")

local _M = {}

-- Tags that the wiki knows (src/markdown/html-tags.js). Others are left out, and what they contain stays.
local KEPT = {
  b = "b", i = "i", u = "u", ins = "ins", del = "del", s = "del", strike = "del", kbd = "kbd", mark = "mark",
  small = "small", sub = "sub", sup = "sup"
}
local TAGS = { Subscript = "sub", Superscript = "sup", Underline = "u" }
local MARKED = { Emph = "i", Strong = "b", Strikeout = "del" }
local PUNCTUATION = "„“”«»‹›‘’‚…–—·¡¿"
-- Stands for inlines that begin and end with signs in Markdown.
local SIGN = "`"

local raw, extend = elements.raw, elements.extend

-- Returns the first or the last character that stands in Markdown, without marks of emphasis; "" for none.
local function edge_of(inline, is_first)
  if inline == nil then return "" end
  if inline.t == "Str" then
    -- A mark that was left becomes code.
    if inline.text:find(is_first and "^[\xF3\xF4]" or "[\xF3\xF4][\x80-\xBF]*$") then return SIGN end
    return inline.text:match(is_first and "^[\0-\x7F\xC2-\xFD][\x80-\xBF]*" or "[\0-\x7F\xC2-\xFD][\x80-\xBF]*$") or ""
  end
  if inline.t == "Space" or inline.t == "SoftBreak" or inline.t == "LineBreak" then return " " end
  if MARKED[inline.t] then return edge_of(inline.content[is_first and 1 or #inline.content], is_first) end
  return SIGN
end

local function is_word(character)
  return character ~= "" and not character:match("^[%s%p]$") and character ~= "\u{A0}" and
    not PUNCTUATION:find(character, 1, true)
end

-- Pairs of HTML's tags within one list, if the wiki knows them.
local function pair_tags(inlines)
  local open = {}
  for index, inline in ipairs(inlines) do
    if inline.t == "RawInline" and inline.format == "html" then
      local slash, name = inline.text:match("^<(/?)(%a+)[%s/>]")
      name = name and name:lower()
      local kept = KEPT[name]
      inlines[index] = name == "br" and { t = "LineBreak" } or raw("")
      if kept and slash == "" then open[#open + 1] = { name = name, index = index }
      elseif kept and #open > 0 and open[#open].name == name then
        inlines[open[#open].index] = raw("<" .. kept .. ">")
        inlines[index] = raw("</" .. kept .. ">")
        open[#open] = nil
      end
    end
  end
end

-- `**a:**b` would not be strong: https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run
local function needs_tags(inline, before, after)
  if (before and MARKED[before.t]) or (after and MARKED[after.t]) then return true end
  return (is_word(edge_of(before, false)) and not is_word(edge_of(inline, true))) or
    (is_word(edge_of(after, true)) and not is_word(edge_of(inline, false)))
end

-- Without HTML, pandoc leaves `&amp;` as it is.
local function with_ampersands(text)
  local out, from = {}, 1
  for at in text:gmatch("()&#?%w+;") do
    if at > from then out[#out + 1] = elements.str(text:sub(from, at - 1)) end
    out[#out + 1] = raw("&amp;")
    from = at + 1
  end
  if from <= #text then out[#out + 1] = elements.str(text:sub(from)) end
  return out
end

-- Returns a list of inlines as Markdown can have it.
function _M.written(inlines)
  local out = {}
  pair_tags(inlines)
  for index, inline in ipairs(inlines) do
    local before, after = inlines[index - 1], inlines[index + 1]
    local tag = TAGS[inline.t] or (MARKED[inline.t] and needs_tags(inline, before, after) and MARKED[inline.t])
    if tag then
      out[#out + 1] = raw("<" .. tag .. ">")
      extend(out, inline.content)
      out[#out + 1] = raw("</" .. tag .. ">")
    elseif inline.t == "Math" then
      local last, first = edge_of(before, false), edge_of(after, true)
      out[#out + 1] = maths.inline(inline, is_word(last) or is_word(first) or first:match("^[%({$]") ~= nil)
    elseif inline.t == "Str" and inline.text:match("^[-=_]+$") and (not before or before.t == "LineBreak") then
      -- As a line it would be a rule, or make the line before it a heading.
      out[#out + 1] = raw((inline.text:gsub(".", "\\%0")))
    elseif inline.t == "Str" and before and before.t == "LineBreak" and inline.text:match("^%d*[.)+]$") then
      -- It would begin a list.
      out[#out + 1] = raw((inline.text:gsub("[.)+]", "\\%0")))
    elseif inline.t == "Str" and inline.text:find("&", 1, true) then
      extend(out, with_ampersands(inline.text))
    elseif not (inline.t == "RawInline" and inline.text == "") then
      out[#out + 1] = inline
    end
  end
  return out
end

return _M
