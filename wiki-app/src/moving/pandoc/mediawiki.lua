-- Takes out of wikitext what pandoc reads otherwise than MediaWiki: templates, pictures with their options, categories,
-- notes with names, galleries. https://www.mediawiki.org/wiki/Help:Formatting
local verbatim = require("verbatim")
local pairs_of = require("brackets")
local pictures = require("pictures")

local _M = {}

local SPECIAL = "[<{%[_\xF3\xF4]"
local DEPTH_MAX = 8
local VERBATIM = { "nowiki", "pre", "source", "syntaxhighlight", "code", "tt", "math", "chem", "ce", "score" }
local CODE = { pre = true, source = true, syntaxhighlight = true }
local BEHAVIOUR = {}
for word in ([[NOTOC FORCETOC TOC NOEDITSECTION NEWSECTIONLINK NONEWSECTIONLINK NOGALLERY HIDDENCAT
  EXPECTUNUSEDCATEGORY NOCONTENTCONVERT NOCC NOTITLECONVERT NOTC START END INDEX NOINDEX STATICREDIRECT
  DISAMBIG NOGLOBAL ARCHIVEDTALK NOTALK]]):gmatch("%u+") do
  BEHAVIOUR[word] = true
end
-- Templates that show nothing of their own.
local NOTES = { reflist = true, references = true }

local Reader = {}
Reader.__index = Reader

local function trimmed(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- `settings.file`, `settings.category`: lower-case names of these namespaces → true.
-- Returns wikitext for pandoc, and the names of the categories.
function _M.prepare(text, settings, marks)
  local skip = verbatim.new(text, VERBATIM)
  local reader = setmetatable({
    text = text, settings = settings, marks = marks, skip = skip, tags = {},
    closing = pairs_of(text, skip), notes = {}, used = {}
  }, Reader)
  reader:find_notes()
  local target = text:match("^%s*#[%a\x80-\xFF]+%s*:?%s*(%[%[[^%[%]\n]+%]%])")
  if target then return "→ " .. target, {} end
  -- pandoc knows no `:*`: an indented list is a list.
  local prepared = ("\n" .. reader:range(1, #text, 0)):gsub("\n:+([*#])", "\n%1"):sub(2)
  return prepared, reader.tags
end

-- Notes with names, wherever they are defined: the first use may come before.
function Reader:find_notes()
  local at = 1
  while true do
    local start = self.skip.lowered:find("<ref[%s>/]", at)
    if not start then return end
    local name, from, to = self:note_at(start)
    if name and from and not self.notes[name] and to >= from then self.notes[name] = { from, to } end
    at = start + 4
  end
end

-- Returns the name of the note at `<ref`, or nil, the range of its text (nil without one), and where it ends.
function Reader:note_at(start)
  local tag_end = self.text:find(">", start, true)
  if not tag_end or tag_end - start > 1000 then return nil end
  local attributes = self.text:sub(start + 4, tag_end - 1)
  local name = attributes:match('name%s*=%s*"([^"]*)"') or attributes:match("name%s*=%s*'([^']*)'") or
    attributes:match("name%s*=%s*([^%s\"'/]+)")
  if attributes:match("/%s*$") then return name, nil, nil, tag_end end
  local close, close_end = self.skip:find_close("ref", tag_end + 1)
  if not close then return nil end
  return name, tag_end + 1, close - 1, close_end
end

-- Converts a part of the text.
function Reader:range(from, to, depth)
  local text, out, at = self.text, {}, from
  while at <= to do
    local start = text:find(SPECIAL, at)
    if not start or start > to then break end
    if start > at then out[#out + 1] = text:sub(at, start - 1) end
    local made, next_at = self:special(start, to, depth)
    -- What shows nothing takes its line along.
    if made == "" and (start == 1 or text:sub(start - 1, start - 1) == "\n") then
      local _, line_end = text:find("^[ \t]*\n", next_at)
      if line_end and line_end <= to then next_at = line_end + 1 end
    end
    out[#out + 1] = made or text:sub(start, start)
    at = next_at or start + 1
  end
  if at <= to then out[#out + 1] = text:sub(at, to) end
  return table.concat(out)
end

-- Returns what stands for the markup at `start`, and where the text goes on; nil when it is text.
function Reader:special(start, to, depth)
  local byte = self.text:byte(start)
  local made, next_at
  if byte == 0x3C then made, next_at = self:tag(start, depth)
  elseif byte == 0x7B then made, next_at = self:template(start, depth)
  elseif byte == 0x5B then made, next_at = self:link(start, depth)
  elseif byte == 0x5F then
    local word = self.text:match("^__(%u+)__", start)
    if BEHAVIOUR[word] then made, next_at = "", start + #word + 4 end
  else made, next_at = self.marks:protected(self.text, start) end
  if next_at and next_at > to + 1 then return nil end
  return made, next_at
end

-- A template with lines of its own is a block, also where text follows in the next line.
function Reader:template(start, depth)
  local stop = self.closing[start]
  if not stop then return nil end
  local source = self.text:sub(start, stop)
  if source == "{{!}}" then return "|", stop + 1 end
  if source == "{{=}}" then return "=", stop + 1 end
  local name = source:match("^{{%s*([%a ]-)%s*[|}]")
  if name and NOTES[name:lower()] then return "", stop + 1 end
  local mark = self.marks:add({ kind = "code", source = source })
  local before = self.text:sub(math.max(1, start - 2), start - 1)
  local is_block = depth == 0 and (start == 1 or before:match("[^>]\n$") or before == "\n")
  if not (is_block and self.text:match("^[ \t]*%f[\n\0]", stop + 1)) then return mark, stop + 1 end
  return "\n" .. mark .. "\n", stop + 1
end

-- Pictures become `[[File:` and a mark, with the caption alone, categories become tags. Other links are pandoc's.
function Reader:link(start, depth)
  local stop = self.closing[start]
  if not stop or self.text:byte(start + 1) ~= 0x5B then return nil end
  local namespace, rest = self.text:match("^%[%[([^%[%]{}|:\n]+):()", start)
  if not namespace then return nil end
  namespace = pandoc.text.lower(trimmed((namespace:gsub("_", " "))))
  if self.settings.category[namespace] then
    local name = self.text:match("^[^%[%]{}|\n]+", rest)
    if name and #self.tags < 1000 then self.tags[#self.tags + 1] = trimmed((name:gsub("_", " "))) end
    return name and "", stop + 1
  end
  if not self.settings.file[namespace] or depth >= DEPTH_MAX then return nil end
  return self:picture(start, rest, stop - 2, stop, depth), stop + 1
end

-- `from` to `to`: the name and what follows it.
function Reader:picture(start, from, to, stop, depth)
  local picture = pictures.parse(self.text, from, to, self.closing)
  local mark = self.marks:add({
    kind = "picture", name = trimmed((picture.name:gsub("_", " "))), thumb = picture.thumb, alt = picture.alt,
    short = "[[File:" .. picture.name .. "]]", source = self.text:sub(start, stop)
  })
  if not picture.from then return "[[File:" .. mark .. "]]" end
  local caption = self:range(picture.from, picture.to, depth + 1):gsub("%s*\n%s*", " ")
  return "[[File:" .. mark .. "|" .. caption .. "]]"
end

function Reader:tag(start, depth)
  local name, stop = self.skip:at(start)
  if name == "comment" then return "", stop + 1 end
  if CODE[name] then return self:code(name, start, stop), stop + 1 end
  if name then return self.text:sub(start, stop), stop + 1 end
  local tag = self.skip.lowered:match("^<(%a+)", start)
  if self.skip.names[tag] then return self.marks:add({ kind = "text", source = "<" }), start + 1 end
  if tag == "ref" then return self:note(start, depth) end
  if tag == "references" or tag == "gallery" or tag == "poem" then return self:block(tag, start, depth) end
  if tag == "hr" then
    local _, hr_end = self.text:find("^<%a+%s*/?>", start)
    if hr_end then return "\n----\n", hr_end + 1 end
  end
  return nil
end

-- Code that does not begin a line, as in lists: pandoc loses it.
function Reader:code(name, start, stop)
  local source = self.text:sub(start, stop)
  if start == 1 or self.text:match("^[\n>]", start - 1) then return source end
  local attributes, code = source:match("^<%a+([^>]*)>(.*)</%a+%s*>$")
  if not code then return source end
  if name == "pre" then
    code = code:gsub("</?nowiki>", ""):gsub("&(%a+);", { lt = "<", gt = ">", quot = '"', amp = "&" })
  end
  local language = attributes:match("lang%s*=%s*[\"']?([%w+#.-]+)") or ""
  code = code:gsub("^%s*\n", ""):gsub("%s+$", "")
  return self.marks:add({ kind = "code", source = code, language = language })
end

function Reader:note(start, depth)
  local name, from, to, stop = self:note_at(start)
  if not name then return nil end
  local again = self.marks:add({ kind = "note-again", name = name, source = self.text:sub(start, stop) })
  local known = self.notes[name]
  if self.used[name] or not known or depth >= DEPTH_MAX then return again, stop + 1 end
  self.used[name] = true
  from, to = known[1], known[2]
  local mark = self.marks:add({ kind = "note-name", name = name, source = "" })
  return "<ref>" .. mark .. self:range(from, to, depth + 1) .. "</ref>", stop + 1
end

function Reader:block(tag, start, depth)
  local tag_end = self.text:find(">", start, true)
  if not tag_end then return nil end
  if self.text:byte(tag_end - 1) == 0x2F then return "", tag_end + 1 end
  local close, close_end = self.skip:find_close(tag, tag_end + 1)
  if tag == "references" then return "", (close_end or tag_end) + 1 end
  if not close or depth >= DEPTH_MAX then return self.marks:add({ kind = "text", source = "<" }), start + 1 end
  if tag == "poem" then
    local lines = self:range(tag_end + 1, close - 1, depth + 1)
    return "\n" .. trimmed(lines):gsub("\n", "<br />\n") .. "\n", close_end + 1
  end
  local out, at = {}, tag_end + 1
  while at < close do
    local line_end = math.min(self.text:find("\n", at, true) or close, close)
    local line = self.text:sub(at, line_end - 1)
    local prefix = line:match("^%s*([^|:]*):")
    local is_file = prefix and self.settings.file[pandoc.text.lower(trimmed(prefix))]
    local from = at + (is_file and #line:match("^%s*[^|:]*:") or 0)
    if line:match("%S") then out[#out + 1] = self:picture(from, from, line_end - 1, line_end - 1, depth) end
    at = line_end + 1
  end
  return "\n\n" .. table.concat(out, "\n\n") .. "\n\n", close_end + 1
end

return _M
