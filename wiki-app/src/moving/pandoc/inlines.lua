-- Inlines whose Markdown depends on what is beside them.
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

local function raw(text) return pandoc.RawInline("gfm", text) end

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
      inlines[index] = name == "br" and pandoc.LineBreak() or raw("")
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
  local out, from = pandoc.Inlines({}), 1
  for at in text:gmatch("()&#?%w+;") do
    if at > from then out:insert(pandoc.Str(text:sub(from, at - 1))) end
    out:insert(raw("&amp;"))
    from = at + 1
  end
  if from <= #text then out:insert(pandoc.Str(text:sub(from))) end
  return out
end

function _M.written(inlines)
  local out = pandoc.Inlines({})
  pair_tags(inlines)
  for index, inline in ipairs(inlines) do
    local before, after = inlines[index - 1], inlines[index + 1]
    local tag = TAGS[inline.t] or (MARKED[inline.t] and needs_tags(inline, before, after) and MARKED[inline.t])
    if tag then
      out:insert(raw("<" .. tag .. ">"))
      out:extend(inline.content)
      out:insert(raw("</" .. tag .. ">"))
    elseif inline.t == "Math" then
      local last, first = edge_of(before, false), edge_of(after, true)
      out:insert(maths.inline(inline, is_word(last) or is_word(first) or first:match("^[%({$]") ~= nil))
    elseif inline.t == "Str" and inline.text:match("^[-=_]+$") and (not before or before.t == "LineBreak") then
      -- As a line it would be a rule, or make the line before it a heading.
      out:insert(raw((inline.text:gsub(".", "\\%0"))))
    elseif inline.t == "Str" and before and before.t == "LineBreak" and inline.text:match("^%d*[.)+]$") then
      -- It would begin a list.
      out:insert(raw((inline.text:gsub("[.)+]", "\\%0"))))
    elseif inline.t == "Str" and inline.text:find("&", 1, true) then
      out:extend(with_ampersands(inline.text))
    elseif not (inline.t == "RawInline" and inline.text == "") then
      out:insert(inline)
    end
  end
  return out
end

-- What `written` has nothing to do with: words, links and code alone. To look at each word from Lua takes longer than
-- all of pandoc.
local function is_plain(paragraph, is_simple)
  local text = pandoc.utils.stringify(paragraph)
  if text:find("&", 1, true) or text:find("^%s*[-=_]") then return false end
  if is_simple then return true end
  local is_all = true
  local function other() is_all = false end
  paragraph:walk({
    Link = function(link) if pandoc.utils.stringify(link.content):find("^%s*[-=_]") then is_all = false end end,
    Emph = other, Strong = other, Strikeout = other, Subscript = other, Superscript = other, Underline = other,
    SmallCaps = other, Quoted = other, Cite = other, Span = other, Image = other, Note = other, Math = other,
    RawInline = other, LineBreak = other
  })
  return is_all
end

local PARAGRAPHS = { Para = true, Plain = true, Header = true }
local OF_PARAGRAPHS = { BulletList = true, OrderedList = true, BlockQuote = true }

-- `is_simple`: there is nothing but words and links. `has_cells`: there are inlines outside of paragraphs.
function _M.all_written(blocks, known)
  local function paragraph(block)
    if not is_plain(block, known.is_simple) then return block:walk({ Inlines = _M.written }) end
  end
  local filter = { Para = paragraph, Plain = paragraph, Header = paragraph }
  local out = pandoc.Blocks({})
  for _, block in ipairs(blocks) do
    if PARAGRAPHS[block.t] then out:insert(paragraph(block) or block)
    elseif OF_PARAGRAPHS[block.t] and not known.has_cells then out:extend(pandoc.Blocks({ block }):walk(filter))
    else out:extend(pandoc.Blocks({ block }):walk({ Inlines = _M.written })) end
  end
  return out
end

return _M
