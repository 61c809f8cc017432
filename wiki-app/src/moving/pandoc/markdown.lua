-- A document of pandoc (elements.lua) as blocks of the wiki's Markdown.
local blocks_of = require("blocks")
local elements = require("elements")
local inlines_of = require("inlines")
local tables = require("tables")
local walk = require("walk")

local _M = {}

local LABEL_MAX_BYTES = 480
local SCHEMES = { http = true, https = true, mailto = true }

local raw, extend = elements.raw, elements.extend

local function is_wiki_link(link) return elements.has_class(link, "wikilink") or link.place[2] == "wikilink" end

local Writer = {}
Writer.__index = Writer

-- `settings.notes`: of a section, whose notes get labels with that mark, as other sections of the text have notes, too.
function _M.new(marks, settings)
  return setmetatable({
    marks = marks, language = settings.language,
    before = settings.notes and settings.notes .. "-" or "", defined = settings.notes and settings.notes .. "=" or ""
  }, Writer)
end

-- Calls `add(kind, target)` for all links and pictures of the text.
function Writer:questions(blocks, add)
  walk.blocks(blocks, {
    Link = function(link) if is_wiki_link(link) then add("link", self.marks:restored(link.place[1])) end end
  })
  for _, item in ipairs(self.marks.list) do
    if item.kind == "picture" then add("picture", item.name) end
    if item.kind == "link" then
      add("link", item.target)
      if item.picture then add("picture", item.picture.name) end
    end
  end
end

-- Code of what is not converted; blocks.lua makes blocks of it.
function Writer:code(source, language)
  local pairs_of = { { "source", source }, { "language", language or self.language } }
  return elements.code(source:gsub("%s+", " "), { "", { "unconverted" }, pairs_of })
end

local function listed(made) return made.t and { made } or made end

-- The wiki takes a label as it is, without marks.
local function plain_label(content)
  for _, inline in ipairs(content) do
    if inline.t ~= "Str" and inline.t ~= "Space" and inline.t ~= "SoftBreak" then return nil end
  end
  local text = walk.text(content):gsub("^%s+", ""):gsub("%s+$", "")
  if text == "" or #text > LABEL_MAX_BYTES or text:find("[%[%]\n]") then return nil end
  return text
end

-- Of a link that leads nowhere here: its target stays readable.
local function with_target(content, target)
  if walk.text(content) ~= target then extend(content, { elements.space(), elements.str("(" .. target .. ")") }) end
  return content
end

-- Returns an inline, or inlines where the link leads nowhere.
function Writer:link(content, target)
  local answer = self.answers["link" .. target] or {}
  if #content == 0 then content = { elements.str(target) } end
  local label = plain_label(content)
  if answer.page and label then
    return raw("[[" .. answer.page .. (label == answer.page and "" or "|" .. label) .. "]]")
  end
  if answer.href then return elements.link(content, answer.href) end
  return with_target(content, target)
end

function Writer:picture(item, caption)
  local answer = self.answers["picture" .. item.name] or {}
  if not answer.href then
    local inlines = { self:code(item.short) }
    if #caption > 0 then inlines[2] = elements.space() end
    extend(inlines, caption)
    return inlines
  end
  local alt = item.alt or self.marks:restored(walk.text(caption)):gsub("%s+", " ")
  local image = elements.image(elements.words(alt), answer.href)
  if not item.thumb then return image end
  local content = { image }
  extend(content, caption)
  return elements.span(content, { "", { "thumb" }, {} })
end

-- What stands for a mark in a text.
function Writer:inline(item)
  if item.kind == "text" then return elements.str(item.source) end
  if item.kind == "note-name" or item.kind == "note-again" then
    return elements.span({}, { "", { item.kind }, { { "name", item.name } } })
  end
  if item.kind == "link" then
    local picture = item.picture and self:picture(item.picture, {})
    return self:link(listed(picture or elements.str(item.label)), item.target)
  end
  if item.kind == "picture" and item.caption then
    return self:picture(item, item.caption == "" and {} or { elements.str(item.caption) })
  end
  return self:code(item.source, item.language)
end

function Writer:from_marks(text)
  local out = {}
  self.marks:parts(text, function(part) out[#out + 1] = elements.str(part) end, function(item)
    extend(out, listed(self:inline(item)))
  end)
  return out
end

function Writer:image(image)
  local item
  self.marks:parts(image.place[1], function() end, function(found) item = found end)
  if not item then return image.caption end
  -- Without a caption pandoc takes the name for it.
  if image.place[2] == image.place[1] then return self:picture(item, {}) end
  return self:picture(item, walk.inlines(image.caption, { Note = function() return {} end }))
end

-- A link that is no wiki link.
function Writer:outer_link(link)
  local target = self.marks:restored(link.place[1])
  local scheme = target:match("^%s*(%a[%w+.-]*):")
  if scheme and SCHEMES[scheme:lower()] then return elements.link(link.content, target) end
  return with_target(link.content, target)
end

-- Puts in what marks stand for.
function Writer:without_marks(blocks)
  if #self.marks.list == 0 then return blocks end
  return walk.blocks(blocks, {
    Str = function(str) if str.text:find("[\xF3\xF4]") then return self:from_marks(str.text) end end
  })
end

-- What pandoc did not read.
function Writer:first_filter()
  return {
    Code = function(code) return elements.code(self.marks:restored(code.text)) end,
    CodeBlock = function(block)
      local language = block.attr[2][1] ~= "numberLines" and (block.attr[2][1] or ""):match("^[%w+#.-]+$")
      return blocks_of.code(self.marks:restored(block.text), language or nil)
    end,
    Math = function(math)
      math.text = self.marks:restored(math.text)
      return math
    end,
    RawInline = function(inline)
      if inline.format ~= "html" then return self:code(self.marks:restored(inline.text)) end
    end,
    RawBlock = function(block)
      if block.format == "html" then return {} end
      return blocks_of.code(self.marks:restored(block.text), self.language)
    end,
    Image = function(image) return self:image(image) end,
    Link = function(link)
      if not is_wiki_link(link) then return self:outer_link(link) end
      return walk.within(link, { Str = function(str) return elements.str((str.text:gsub("&amp;", "&"))) end })
    end
  }
end

-- Returns blocks, in which notes are references, and the blocks of each note.
function Writer:with_notes(blocks)
  local labels, texts = {}, {}
  blocks = walk.blocks(blocks, {
    Note = function(note)
      local name
      walk.within(note, { Span = function(span)
        if elements.has_class(span, "note-name") then name = elements.attribute(span, "name") end
      end })
      if name and labels[name] then return raw("[^" .. self.before .. labels[name] .. "]") end
      texts[#texts + 1] = note.content
      if name then labels[name] = #texts end
      return raw("[^" .. self.before .. #texts .. "]")
    end
  })
  local function span(found)
    local name = elements.attribute(found, "name")
    if elements.has_class(found, "note-again") and labels[name] then
      return raw("[^" .. self.before .. labels[name] .. "]")
    end
    if elements.has_class(found, "note-again") then return self:code('<ref name="' .. name .. '" />') end
    return elements.has_class(found, "note-name") and {} or nil
  end
  blocks = walk.blocks(blocks, { Span = span })
  return blocks, texts
end

-- Returns the Markdown of blocks with that of their notes at its end.
function Writer:joined(body, notes)
  local out = { body:find("%S") and body or nil }
  for number, text in ipairs(notes) do
    text = text:gsub("\n+$", ""):gsub("\n([^\n])", "\n    %1")
    out[#out + 1] = "[^" .. self.defined .. number .. "]: " .. text .. "\n"
  end
  return #out == 0 and body or table.concat(out, "\n")
end

-- `answers`: by kind and target `page` and `href`, or `href`, or neither. Returns what `with_notes` does.
function Writer:blocks(blocks, answers)
  self.answers = answers
  blocks = walk.blocks(blocks, { Figure = blocks_of.figure })
  blocks = walk.blocks(blocks, self:first_filter())
  blocks = self:without_marks(blocks)
  blocks = walk.blocks(blocks, {
    Div = function(div) return div.content end, Para = blocks_of.paragraph
  })
  blocks = walk.blocks(blocks, { Inlines = inlines_of.written })
  blocks = walk.blocks(blocks, {
    Link = function(link)
      if is_wiki_link(link) then return self:link(link.content, self.marks:restored(link.place[1])) end
    end,
    Para = blocks_of.apart,
    Plain = blocks_of.apart,
    DefinitionList = blocks_of.definitions
  })
  blocks = walk.blocks(blocks, { Table = tables.simplified })
  return self:with_notes(blocks)
end

return _M
