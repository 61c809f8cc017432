-- A document of pandoc as the wiki's Markdown.
local blocks_of = require("blocks")
local inlines_of = require("inlines")
local survey = require("survey")
local tables = require("tables")

local _M = {}

local LABEL_MAX_BYTES = 480
local SCHEMES = { http = true, https = true, mailto = true }

local function raw(text) return pandoc.RawInline("gfm", text) end

local is_wiki_link, has_any = survey.is_wiki_link, survey.has_any

local Writer = {}
Writer.__index = Writer

-- `ask(questions)` returns an answer to each: `page` and `href`, or `href`, or neither. `may_leave`: marks may stay in
-- the text until it is Markdown, as nothing else in it looks like one.
-- `settings.notes`: of a section, whose notes get labels with that mark, as other sections of the text have notes, too.
function _M.new(marks, settings, ask, may_leave)
  return setmetatable({
    marks = marks, language = settings.language, ask = ask, answers = {}, may_leave = may_leave,
    before = settings.notes and settings.notes .. "-" or "", defined = settings.notes and settings.notes .. "=" or ""
  }, Writer)
end

-- Asks about all links and pictures of the text at once.
function Writer:resolve(doc)
  local questions, known = {}, {}
  local function add(kind, target)
    if not known[kind .. target] then questions[#questions + 1] = { kind = kind, target = target } end
    known[kind .. target] = true
  end
  self.seen = survey.of(doc, function(link) add("link", self.marks:restored(link.target)) end)
  for _, item in ipairs(self.marks.list) do
    if item.kind == "note-name" or item.kind == "note-again" then self.seen.Note = true end
    if item.kind == "picture" then add("picture", item.name) end
    if item.kind == "link" then
      add("link", item.target)
      if item.picture then add("picture", item.picture.name) end
    end
  end
  if #questions == 0 then return end
  for index, answer in ipairs(self.ask(questions)) do
    local question = questions[index]
    self.answers[question.kind .. question.target] = answer
  end
end

-- Code of what is not converted; blocks.lua makes blocks of it.
function Writer:code(source, language)
  local attributes = { source = source, language = language or self.language }
  return pandoc.Code(source:gsub("%s+", " "), pandoc.Attr("", { "unconverted" }, attributes))
end

-- The wiki takes a label as it is, without marks.
local function plain_label(content)
  for _, inline in ipairs(content) do
    if inline.t ~= "Str" and inline.t ~= "Space" and inline.t ~= "SoftBreak" then return nil end
  end
  local text = pandoc.utils.stringify(content):gsub("^%s+", ""):gsub("%s+$", "")
  if text == "" or #text > LABEL_MAX_BYTES or text:find("[%[%]\n]") then return nil end
  return text
end

-- Of a link that leads nowhere here: its target stays readable.
local function with_target(content, target)
  if pandoc.utils.stringify(content) ~= target then
    content:extend({ pandoc.Space(), pandoc.Str("(" .. target .. ")") })
  end
  return content
end

-- Returns an inline, or inlines where the link leads nowhere.
function Writer:link(content, target)
  local answer = self.answers["link" .. target] or {}
  if #content == 0 then content = pandoc.Inlines({ pandoc.Str(target) }) end
  local label = plain_label(content)
  if answer.page and label then
    return raw("[[" .. answer.page .. (label == answer.page and "" or "|" .. label) .. "]]")
  end
  if answer.href then return pandoc.Link(content, answer.href) end
  return with_target(content, target)
end

function Writer:picture(item, caption)
  local answer = self.answers["picture" .. item.name] or {}
  if not answer.href then
    local inlines = pandoc.Inlines({ self:code(item.short) })
    if #caption > 0 then inlines:insert(pandoc.Space()) end
    inlines:extend(caption)
    return inlines
  end
  local alt = item.alt or self.marks:restored(pandoc.utils.stringify(caption)):gsub("%s+", " ")
  local image = pandoc.Image(alt, answer.href)
  if not item.thumb then return image end
  local span = pandoc.Span({ image }, { class = "thumb" })
  span.content:extend(caption)
  return span
end

-- What stands for a mark in a text.
function Writer:inline(item)
  if item.kind == "text" then return pandoc.Str(item.source) end
  if item.kind == "note-name" or item.kind == "note-again" then
    return pandoc.Span({}, pandoc.Attr("", { item.kind }, { name = item.name }))
  end
  if item.kind == "link" then
    local picture = item.picture and self:picture(item.picture, pandoc.Inlines({}))
    return self:link(pandoc.Inlines(picture or { pandoc.Str(item.label) }), item.target)
  end
  if item.kind == "picture" and item.caption then
    return self:picture(item, pandoc.Inlines(item.caption == "" and {} or { pandoc.Str(item.caption) }))
  end
  return self:code(item.source, item.language)
end

function Writer:from_marks(text)
  local out = pandoc.Inlines({})
  self.marks:parts(text, function(part) out:insert(pandoc.Str(part)) end, function(item)
    local made = self:inline(item)
    if pandoc.utils.type(made) == "Inlines" then out:extend(made) else out:insert(made) end
  end)
  return out
end

function Writer:image(image)
  local item
  self.marks:parts(image.src, function() end, function(found) item = found end)
  if not item then return image.caption end
  -- Without a caption pandoc takes the name for it.
  if image.title == image.src then return self:picture(item, pandoc.Inlines({})) end
  return self:picture(item, image.caption:walk({ Note = function() return {} end }))
end

-- A link that is no wiki link.
function Writer:outer_link(link)
  local target = self.marks:restored(link.target)
  local scheme = target:match("^%s*(%a[%w+.-]*):")
  if scheme and SCHEMES[scheme:lower()] then return pandoc.Link(link.content, target) end
  return with_target(link.content, target)
end

local function is_short_code(item)
  return item.kind == "code" and item.source:find("%S") and not item.source:find("\n", 1, true)
end

-- Whether the marks of a paragraph can stay until it is Markdown: code between words, and none of it within a link.
function Writer:can_leave(paragraph, text)
  if not self.may_leave or self.marks:has_other(text, is_short_code) then return false end
  if not text:gsub("[\xF3\xF4][\x80-\xBF]+", ""):find("%S") then return false end
  if not self.seen.odd_link and not self.seen.Note then return true end
  local is_left = true
  paragraph:walk({
    Link = function(link)
      if pandoc.utils.stringify(link.content):find("[\xF3\xF4]") then is_left = false end
    end,
    Note = function() is_left = false end
  })
  return is_left
end

-- Puts in what marks stand for. To look at each word from Lua takes longer than all of pandoc, so only where there are
-- some. Returns whether anything was put in, too.
function Writer:without_marks(blocks)
  if #self.marks.list == 0 then return blocks, false end
  local has_changed = false
  local filter = {
    Str = function(str) if str.text:find("[\xF3\xF4]") then return self:from_marks(str.text) end end
  }
  local function paragraph(block)
    local text = pandoc.utils.stringify(block)
    if text:find("[\xF3\xF4]") and not self:can_leave(block, text) then
      has_changed = true
      return block:walk(filter)
    end
  end
  local function other(block)
    if pandoc.utils.stringify(block):find("[\xF3\xF4]") then
      has_changed = true
      return block:walk(filter)
    end
  end
  blocks = blocks:walk({
    Para = paragraph, Plain = paragraph, Header = paragraph, DefinitionList = other, LineBlock = other, Table = other,
    Figure = other
  })
  return blocks, has_changed
end

-- What pandoc did not read.
function Writer:first_filter()
  return {
    Code = function(code) return pandoc.Code(self.marks:restored(code.text)) end,
    CodeBlock = function(block)
      local language = block.classes[1] ~= "numberLines" and (block.classes[1] or ""):match("^[%w+#.-]+$")
      return blocks_of.code(self.marks:restored(block.text), language or nil)
    end,
    Math = function(math) return pandoc.Math(math.mathtype, self.marks:restored(math.text)) end,
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
      if not pandoc.utils.stringify(link.content):find("&amp;", 1, true) then return nil end
      link.content = link.content:walk({ Str = function(str) return pandoc.Str((str.text:gsub("&amp;", "&"))) end })
      return link
    end
  }
end

-- Returns blocks; notes are references, with their texts at the end.
function Writer:with_notes(blocks, write)
  if not self.seen.Note then return blocks end
  local labels, notes, count = {}, pandoc.Blocks({}), 0
  blocks = blocks:walk({
    Note = function(note)
      local name
      note = note:walk({ Span = function(span)
        if span.classes:includes("note-name") then name = span.attributes.name end
      end })
      if name and labels[name] then return raw("[^" .. self.before .. labels[name] .. "]") end
      count = count + 1
      if name then labels[name] = count end
      local text = write(note.content):gsub("\n+$", ""):gsub("\n([^\n])", "\n    %1")
      notes:insert(pandoc.RawBlock("gfm", "[^" .. self.defined .. count .. "]: " .. text))
      return raw("[^" .. self.before .. count .. "]")
    end
  })
  blocks = blocks:walk({
    Span = function(span)
      local label = labels[span.attributes.name]
      if span.classes:includes("note-again") and label then return raw("[^" .. self.before .. label .. "]") end
      if span.classes:includes("note-again") then
        return self:code('<ref name="' .. span.attributes.name .. '" />')
      end
      return span.classes:includes("note-name") and {} or nil
    end
  })
  -- Without an empty line after it, a line would take the first note for its own text.
  local last = blocks[#blocks]
  if #notes > 0 and last and last.t == "Plain" then blocks[#blocks] = pandoc.Para(last.content) end
  blocks:extend(notes)
  return blocks
end

local READ_OTHERWISE = "Code CodeBlock Math RawInline RawBlock Image other_link"
local MARKED = [[Emph Strong Strikeout Subscript Superscript Underline SmallCaps Quoted Cite Span Note LineBreak
  odd_link]]

-- `write(blocks)` returns Markdown.
function Writer:blocks(doc, write)
  self:resolve(doc)
  local seen, blocks = self.seen, doc.blocks
  if seen.Figure then blocks = blocks:walk({ Figure = blocks_of.figure }) end
  local is_read_otherwise, has_marks = has_any(seen, READ_OTHERWISE), nil
  if is_read_otherwise then blocks = blocks:walk(self:first_filter()) end
  blocks, has_marks = self:without_marks(blocks)
  local has_new = is_read_otherwise or has_marks
  if has_new or seen.Div then
    blocks = blocks:walk({ Div = function(div) return div.content end, Para = blocks_of.paragraph })
  end
  blocks = inlines_of.all_written(blocks, {
    is_simple = not has_new and not has_any(seen, MARKED), has_cells = has_any(seen, "Table DefinitionList LineBlock")
  })
  if has_new or has_any(seen, "Link Span DefinitionList") then
    local apart = (has_new or seen.Span) and blocks_of.apart or nil
    blocks = blocks:walk({
      Link = function(link)
        if is_wiki_link(link) then return self:link(link.content, self.marks:restored(link.target)) end
      end,
      Para = apart,
      Plain = apart,
      DefinitionList = blocks_of.definitions
    })
  end
  if seen.Table then blocks = blocks:walk({ Table = tables.simplified }) end
  return self:with_notes(blocks, write)
end

return _M
