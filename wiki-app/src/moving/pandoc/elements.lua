-- A document of pandoc as plain tables of Lua. Each look at a value of pandoc's own costs as much as to read a word of
-- the text, so documents come as JSON and go back as JSON.
-- https://hackage.haskell.org/package/pandoc-types/docs/Text-Pandoc-Definition.html
--
-- An element has `t` and the fields below; lists are plain. An `attr` is { identifier, classes, pairs }.
local _M = {}

-- What `c` of pandoc's JSON is: one field, or a list of them.
local FIELDS = {
  Str = "text", Emph = "content", Strong = "content", Strikeout = "content", Subscript = "content",
  Superscript = "content", Underline = "content", SmallCaps = "content", Note = "content",
  Quoted = { "quotetype", "content" }, Cite = { "citations", "content" }, Span = { "attr", "content" },
  Link = { "attr", "content", "place" }, Image = { "attr", "caption", "place" }, Code = { "attr", "text" },
  Math = { "mathtype", "text" }, RawInline = { "format", "text" },
  Para = "content", Plain = "content", BlockQuote = "content", BulletList = "content", DefinitionList = "content",
  LineBlock = "content", OrderedList = { "start", "content" }, Header = { "level", "attr", "content" },
  Div = { "attr", "content" }, Figure = { "attr", "caption", "content" }, CodeBlock = { "attr", "text" },
  RawBlock = { "format", "text" }, Table = { "attr", "caption", "colspecs", "head", "bodies", "foot" }
}

-- Where the content is not a list of inlines.
local CONTENTS = {
  Note = "blocks", BlockQuote = "blocks", Div = "blocks", Figure = "blocks", BulletList = "items",
  OrderedList = "items", DefinitionList = "definitions", LineBlock = "lines"
}

local function rows_of(table)
  local all = { table.head[2] }
  for _, body in ipairs(table.bodies) do
    all[#all + 1] = body[3]
    all[#all + 1] = body[4]
  end
  all[#all + 1] = table.foot[2]
  return all
end

-- Puts in for the lists of inlines and of blocks in an element what `on_inlines(list)`, `on_blocks(list)` return.
function _M.each_list(element, on_inlines, on_blocks)
  local t = element.t
  if t == "Table" then
    element.caption[2] = on_blocks(element.caption[2])
    for _, rows in ipairs(rows_of(element)) do
      for _, row in ipairs(rows) do
        for _, cell in ipairs(row[2]) do cell[5] = on_blocks(cell[5]) end
      end
    end
    return
  end
  if t == "Image" then element.caption = on_inlines(element.caption) end
  if t == "Figure" then element.caption[2] = on_blocks(element.caption[2]) end
  local content, kind = element.content, CONTENTS[t]
  if not content then return end
  if kind == nil then element.content = on_inlines(content)
  elseif kind == "blocks" then element.content = on_blocks(content)
  elseif kind == "lines" then
    for index, line in ipairs(content) do content[index] = on_inlines(line) end
  elseif kind == "items" then
    for index, item in ipairs(content) do content[index] = on_blocks(item) end
  else
    for _, item in ipairs(content) do
      item[1] = on_inlines(item[1])
      for index, text in ipairs(item[2]) do item[2][index] = on_blocks(text) end
    end
  end
end

local each_list = _M.each_list

-- In place: `c` becomes the fields.
local function named(list)
  for _, element in ipairs(list) do
    local fields, c = FIELDS[element.t], element.c
    if type(fields) == "string" then element[fields] = c
    elseif fields then
      for index, name in ipairs(fields) do element[name] = c[index] end
    end
    element.c = nil
    if element.t ~= "Str" then each_list(element, named, named) end
  end
  return list
end

-- Returns the blocks of a document of pandoc.
function _M.of(doc)
  return named(pandoc.json.decode(pandoc.write(doc, "json"), false).blocks)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\" }
local function escape(character) return ESCAPES[character] or string.format("\\u%04x", character:byte()) end

local write

-- Of lists, strings, numbers, and elements.
local function write_value(value, out)
  if type(value) == "string" then out[#out + 1] = '"' .. value:gsub('[%c"\\]', escape) .. '"'
  elseif type(value) == "number" then out[#out + 1] = string.format("%.14g", value)
  elseif type(value) ~= "table" then out[#out + 1] = "null"
  elseif value.t then write(value, out)
  else
    out[#out + 1] = "["
    for index, each in ipairs(value) do
      if index > 1 then out[#out + 1] = "," end
      write_value(each, out)
    end
    out[#out + 1] = "]"
  end
end

function write(element, out)
  local fields = FIELDS[element.t]
  out[#out + 1] = '{"t":"' .. element.t .. '"'
  if type(fields) == "string" then
    out[#out + 1] = ',"c":'
    write_value(element[fields], out)
  elseif fields then
    for index, name in ipairs(fields) do
      out[#out + 1] = index == 1 and ',"c":[' or ","
      write_value(element[name], out)
    end
    out[#out + 1] = "]"
  elseif element.c ~= nil then
    -- A name such as the way in which a list is numbered, with what belongs to it.
    out[#out + 1] = ',"c":'
    write_value(element.c, out)
  end
  out[#out + 1] = "}"
end

local EMPTY = pandoc.json.decode(pandoc.write(pandoc.Pandoc({}), "json"), false)
local VERSION = pandoc.json.encode(EMPTY["pandoc-api-version"])

-- Returns a document of pandoc.
function _M.document(blocks)
  local out = { '{"pandoc-api-version":', VERSION, ',"meta":{},"blocks":' }
  write_value(blocks, out)
  out[#out + 1] = "}"
  return pandoc.read(table.concat(out), "json")
end

local function no_attr() return { "", {}, {} } end

function _M.str(text) return { t = "Str", text = text } end
function _M.space() return { t = "Space" } end
function _M.raw(text) return { t = "RawInline", format = "gfm", text = text } end
function _M.raw_block(text) return { t = "RawBlock", format = "gfm", text = text } end
function _M.code(text, attr) return { t = "Code", attr = attr or no_attr(), text = text } end
function _M.link(content, target) return { t = "Link", attr = no_attr(), content = content, place = { target, "" } } end
function _M.image(caption, src) return { t = "Image", attr = no_attr(), caption = caption, place = { src, "" } } end
function _M.span(content, attr) return { t = "Span", attr = attr, content = content } end
function _M.para(content) return { t = "Para", content = content } end
function _M.plain(content) return { t = "Plain", content = content } end
function _M.strong(content) return { t = "Strong", content = content } end

-- Words with spaces between them.
function _M.words(text)
  local out = {}
  for space, word in text:gmatch("([ \t\r\n]*)([^ \t\r\n]*)") do
    if space ~= "" then out[#out + 1] = space:find("\n") and { t = "SoftBreak" } or _M.space() end
    if word ~= "" then out[#out + 1] = _M.str(word) end
  end
  return out
end

-- `aligns`: of the columns, as in JSON; `head`, `rows`: lists of cells, each a list of blocks.
function _M.table(aligns, head, rows)
  local colspecs = {}
  for index, align in ipairs(aligns) do colspecs[index] = { align, { t = "ColWidthDefault" } } end
  local function row(cells)
    local out = {}
    for index, blocks in ipairs(cells) do out[index] = { no_attr(), { t = "AlignDefault" }, 1, 1, blocks } end
    return { no_attr(), out }
  end
  local body = {}
  for index, cells in ipairs(rows) do body[index] = row(cells) end
  return {
    t = "Table", attr = no_attr(), caption = { false, {} }, colspecs = colspecs, head = { no_attr(), { row(head) } },
    bodies = #body > 0 and { { no_attr(), 0, {}, body } } or {}, foot = { no_attr(), {} }
  }
end

function _M.has_class(element, name)
  for _, class in ipairs(element.attr[2]) do
    if class == name then return true end
  end
  return false
end

-- Returns the value of an attribute, or nil.
function _M.attribute(element, name)
  for _, pair in ipairs(element.attr[3]) do
    if pair[1] == name then return pair[2] end
  end
end

function _M.extend(list, other)
  table.move(other, 1, #other, #list + 1, list)
end

return _M
