-- Takes out of DokuWiki's markup what pandoc reads otherwise than DokuWiki: links, pictures, plugins, macros.
-- https://www.dokuwiki.org/wiki:syntax
local verbatim = require("verbatim")

local _M = {}

local SPECIAL = "[<{%[~%%\xF3\xF4]"
local VERBATIM = { "code", "file", "nowiki", "html", "php" }
local SHOWN_AS_CODE = { html = true, php = true }
local TAGS_MAX = 1000

local function trimmed(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

-- What DokuWiki shows of a link without a label.
local function label_of(target)
  if target:find("://", 1, true) or target:find("\\", 1, true) then return target end
  local label = target:gsub("^[^>]*>", ""):gsub("[?].*$", ""):gsub("[:/]+$", "")
  local page, section = label:match("^([^#]*)#?(.*)$")
  label = page ~= "" and page:match("([^:/]*)$") or section
  return label ~= "" and label or target
end

local Reader = {}
Reader.__index = Reader

-- Returns markup for pandoc, and the names in `{{tag>…}}`.
function _M.prepare(text, settings, marks)
  local reader = setmetatable({
    text = text, marks = marks, skip = verbatim.new(text, VERBATIM), tags = {}, settings = settings
  }, Reader)
  local out, at = {}, 1
  while true do
    local start = text:find(SPECIAL, at)
    if not start then break end
    out[#out + 1] = text:sub(at, start - 1)
    local made, next_at = reader:special(start)
    out[#out + 1] = made or text:sub(start, start)
    at = next_at or start + 1
  end
  out[#out + 1] = text:sub(at)
  return table.concat(out), reader.tags
end

-- Returns what stands for the markup at `start`, and where the text goes on; nil when it is text.
function Reader:special(start)
  local byte = self.text:byte(start)
  if byte == 0x3C then return self:tag(start) end
  if byte == 0x7B then return self:media(start) end
  if byte == 0x5B then return self:link(start) end
  if byte == 0x25 then return self:unformatted(start) end
  if byte == 0x7E then
    local macro = self.text:match("^~~%u[%w:|_ -]*~~", start)
    if not macro then return nil end
    if macro == "~~NOTOC~~" or macro == "~~NOCACHE~~" then return "", start + #macro end
    return self.marks:add({ kind = "code", source = macro }), start + #macro
  end
  return self.marks:protected(self.text, start)
end

function Reader:tag(start)
  local name, stop = self.skip:at(start)
  -- DokuWiki has no comments.
  if not name or name == "comment" then return nil end
  local source = self.text:sub(start, stop)
  if SHOWN_AS_CODE[name] then return self.marks:add({ kind = "code", source = source }), stop + 1 end
  if name == "nowiki" then
    local shown = source:gsub("^<[^>]*>", ""):gsub("</[^>]*>$", "")
    return self.marks:add({ kind = "text", source = shown }), stop + 1
  end
  return source, stop + 1
end

function Reader:unformatted(start)
  local shown, next_at = self.text:match("^%%%%([^\n]-)%%%%()", start)
  if not shown then return nil end
  return self.marks:add({ kind = "text", source = shown }), next_at
end

-- Returns a mark's item for `{{name?options|title}}`, nil for what names no file.
function Reader:picture_of(inner, source)
  local target, title = inner:match("^([^|]*)|?(.*)$")
  local name = trimmed(target):gsub("[?][^?]*$", "")
  if name == "" or name:find("[<>]") then return nil end
  title = trimmed(title)
  if name:find("://", 1, true) then
    return { kind = "link", target = name, label = title == "" and name or title, source = source }
  end
  return { kind = "picture", name = name, short = "{{" .. name .. "}}", caption = title, source = source }
end

function Reader:media(start)
  local inner, next_at = self.text:match("^{{([^{}\n]+)}}()", start)
  if not inner then return nil end
  local source = self.text:sub(start, next_at - 1)
  local plugin, value = inner:match("^%s*([%w_-]+)>(.*)$")
  if plugin == "tag" then
    self:take_tags(value)
    return "", next_at
  end
  return self.marks:add(self:picture_of(inner, source) or { kind = "code", source = source }), next_at
end

-- `{{tag>one two "three four"}}`: https://www.dokuwiki.org/plugin:tag
function Reader:take_tags(value)
  local function add(tag)
    if #self.tags < TAGS_MAX and tag:find("%S") then self.tags[#self.tags + 1] = trimmed((tag:gsub("_", " "))) end
  end
  local rest = value:gsub('"([^"]*)"', function(tag)
    add(tag)
    return " "
  end)
  for tag in rest:gmatch("[^%s,]+") do add(tag) end
end

function Reader:link(start)
  local inner, next_at = self.text:match("^%[%[([^%[%]\n]+)%]%]()", start)
  if not inner then return nil end
  local target, label = inner:match("^([^|]*)|?(.*)$")
  target, label = trimmed(target), trimmed(label)
  local source = self.text:sub(start, next_at - 1)
  if target == "" then return nil end
  local picture = label:match("^{{([^{}]+)}}$")
  return self.marks:add({
    kind = "link", target = target, label = label ~= "" and label or label_of(target), source = source,
    picture = picture and self:picture_of(picture, label) or nil
  }), next_at
end

return _M
