-- Walks over documents of elements.lua. A filter is a table of functions by the names of elements. A function returns
-- nil to leave the element as it is, another element, or a list to put in its place. `Inlines` gets whole lists of
-- inlines. First all inlines are filtered, then their lists, then the blocks, each from within, as in pandoc's filters.
-- https://pandoc.org/lua-filters.html#typewise-traversal
local elements = require("elements")
local each_list = elements.each_list

local _M = {}

local BLOCKS = {}
for name in ([[Para Plain Header BlockQuote BulletList OrderedList DefinitionList LineBlock CodeBlock RawBlock Div
  Figure Table HorizontalRule]]):gmatch("%a+") do
  BLOCKS[name] = true
end

local function filtered(list, filter)
  local out
  for index, element in ipairs(list) do
    local by = filter[element.t]
    local made = by and by(element)
    if made ~= nil and not out then out = table.move(list, 1, index - 1, 1, {}) end
    if made == nil then
      if out then out[#out + 1] = element end
    elseif made.t then out[#out + 1] = made
    else elements.extend(out, made) end
  end
  return out or list
end

-- Returns functions for lists of inlines and of blocks, `visit(list, are_inlines)` gets each, from within.
local function pass(visit)
  local on_inlines, on_blocks
  function on_inlines(list)
    for _, element in ipairs(list) do
      if element.t ~= "Str" and element.t ~= "Space" then each_list(element, on_inlines, on_blocks) end
    end
    return visit(list, true)
  end
  function on_blocks(list)
    for _, element in ipairs(list) do each_list(element, on_inlines, on_blocks) end
    return visit(list, false)
  end
  return on_inlines, on_blocks
end

-- The passes that a filter needs.
local function passes_of(filter)
  local has_inlines, has_blocks = false, false
  for name in pairs(filter) do
    if BLOCKS[name] then has_blocks = true elseif name ~= "Inlines" then has_inlines = true end
  end
  local passes = {}
  local function add(visit) passes[#passes + 1] = { pass(visit) } end
  if has_inlines then
    add(function(list, are_inlines) return are_inlines and filtered(list, filter) or list end)
  end
  if filter.Inlines then
    add(function(list, are_inlines) return are_inlines and filter.Inlines(list) or list end)
  end
  if has_blocks then
    add(function(list, are_inlines) return are_inlines and list or filtered(list, filter) end)
  end
  return passes
end

-- Returns inlines.
function _M.inlines(list, filter)
  for _, each in ipairs(passes_of(filter)) do list = each[1](list) end
  return list
end

-- Returns blocks.
function _M.blocks(list, filter)
  for _, each in ipairs(passes_of(filter)) do list = each[2](list) end
  return list
end

-- What an element contains, not the element. Returns it.
function _M.within(element, filter)
  for _, each in ipairs(passes_of(filter)) do each_list(element, each[1], each[2]) end
  return element
end

local QUOTES = { SingleQuote = { "‘", "’" }, DoubleQuote = { "“", "”" } }

-- Returns the text of a list or of an element, without notes. As pandoc.utils.stringify.
function _M.text(list)
  local out = {}
  local add
  local function add_all(all)
    for _, element in ipairs(all) do add(element) end
    return all
  end
  function add(element)
    local t = element.t
    local quotes = t == "Quoted" and QUOTES[element.quotetype.t]
    if t == "Str" or t == "Code" or t == "Math" then out[#out + 1] = element.text
    elseif t == "Space" or t == "SoftBreak" or t == "LineBreak" then out[#out + 1] = " "
    elseif t == "RawInline" and element.format == "html" and element.text:find("^<br") then out[#out + 1] = " "
    elseif t ~= "Note" then
      if quotes then out[#out + 1] = quotes[1] end
      each_list(element, add_all, add_all)
      if quotes then out[#out + 1] = quotes[2] end
    end
  end
  if list.t then add(list) else add_all(list) end
  return table.concat(out)
end

return _M
