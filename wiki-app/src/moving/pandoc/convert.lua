-- `pandoc lua convert.lua mediawiki|dokuwiki`: converts the texts of standard input, one after another, for pandoc.js.
-- A frame is a line with the number of bytes, and these. The first one is `ready`. For each text come two frames,
-- settings (JSON) and the text. The answer: frames of `?` and questions (JSON), each answered by a frame (JSON); then a
-- frame of `=` and tags (JSON) and one with the Markdown, or one of `!` and a reason.
local directory = arg[0]:match("^(.*)/") or "."
package.path = directory .. "/?.lua"
package.cpath = ""

local from = arg[1]
local elements = require("elements")
local prepare = require(from).prepare
local marks_of = require("marks")
local markdown = require("markdown")
local recover = require("recover")

local FAULTS_MAX = 20

-- No HTML, and `$` is escaped. Each name of an extension takes as long as to write ten words, also in a table, in which
-- it takes less. Others matter for elements alone that markdown.lua replaces: Math, Div.
local FORMAT = { format = "gfm", extensions = { tex_math_dollars = true, raw_html = false } }
local OPTIONS = pandoc.WriterOptions({ wrap_text = "wrap-none" })
local function write(blocks) return pandoc.write(elements.document(blocks), FORMAT, OPTIONS) end

local BETWEEN = string.char(0x1E)

-- To write a document takes as long as a sentence, so those of a list are one.
local function write_each(lists)
  local all = {}
  for index, blocks in ipairs(lists) do
    if index > 1 then all[#all + 1] = elements.raw_block(BETWEEN) end
    elements.extend(all, blocks)
  end
  local out = {}
  for text in (write(all) .. BETWEEN):gmatch("([^" .. BETWEEN .. "]*)" .. BETWEEN) do
    out[#out + 1] = text:gsub("^\n+", "")
  end
  if #out == #lists then return out end
  -- A text has that sign itself.
  for index, blocks in ipairs(lists) do out[index] = write(blocks) end
  return table.move(out, 1, #lists, 1, {})
end

local function read_frame()
  local bytes = io.read("n", "l")
  return bytes and (bytes == 0 and "" or io.read(bytes))
end

local function write_frame(text)
  io.write(#text, "\n", text)
  io.flush()
end

local function ask(questions)
  write_frame("?" .. pandoc.json.encode(questions))
  return pandoc.json.decode(read_frame(), false)
end

-- In a sandbox without files (the last argument).
local function read(text, marks)
  for _ = 1, FAULTS_MAX do
    local is_read, doc = pcall(pandoc.read, text, from, nil, {})
    if is_read then return doc end
    text = recover.without_fault(text, tostring(doc), marks) or error(doc, 0)
  end
  return pandoc.read(text, from, nil, {})
end

local function convert(settings, text)
  local marks = marks_of.new()
  local prepared, tags = prepare(text, settings, marks)
  local blocks = elements.of(read(prepared, marks))
  return write(markdown.new(marks, settings, ask, write_each):blocks(blocks)), tags
end

-- Values of pandoc stay in its memory until Lua collects what refers to them.
collectgarbage("generational")
write_frame("ready")
while true do
  local settings = read_frame()
  if not settings then break end
  local is_done, result, tags = pcall(convert, pandoc.json.decode(settings, false), read_frame())
  if is_done then
    write_frame("=" .. (#tags == 0 and "[]" or pandoc.json.encode(tags)))
    write_frame(result)
  else
    write_frame("!" .. tostring(result):match("^[^\n]*"))
  end
end
