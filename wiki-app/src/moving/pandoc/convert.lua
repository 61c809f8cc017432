-- `pandoc lua convert.lua mediawiki|dokuwiki`: converts the texts of standard input, one after another, for pandoc.js.
-- A frame is a line with the number of bytes, and these. The first one is `ready`. Then come frames of settings (JSON)
-- and of as many texts as they say. The answer: maybe a frame of `?` and questions (JSON), answered by a frame (JSON);
-- then for each text a frame of `=` and tags (JSON) and one with the Markdown, or one of `!` and a reason.
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

-- Between documents that are written as one: U+001E, “record separator”.
local BETWEEN = string.char(0x1E)

-- To write a document takes as long as a sentence, so those of a list are one. Returns the Markdown of each.
local function write_each(lists)
  if #lists < 2 then return lists[1] and { write(lists[1]) } or {} end
  local all = {}
  for index, blocks in ipairs(lists) do
    if index > 1 then all[#all + 1] = elements.raw_block(BETWEEN) end
    elements.extend(all, blocks)
  end
  local out = {}
  for text in (write(all) .. BETWEEN):gmatch("([^" .. BETWEEN .. "]*)" .. BETWEEN) do
    text = text:gsub("^\n+", ""):gsub("\n+$", "")
    out[#out + 1] = text .. "\n"
  end
  if #out == #lists then return out end
  -- A text has that sign itself.
  local alone = {}
  for index, blocks in ipairs(lists) do alone[index] = write(blocks) end
  return alone
end

local function read_frame()
  local bytes = io.read("n", "l")
  return bytes and (bytes == 0 and "" or io.read(bytes))
end

local function write_frame(text)
  io.write(#text, "\n", text)
  io.flush()
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

-- Returns a text as read: its tags, its blocks, and what writes these.
local function prepared(settings, text)
  local marks = marks_of.new()
  local source, tags = prepare(text, settings, marks)
  local blocks = elements.of(read(source, marks))
  return { tags = tags, blocks = blocks, writer = markdown.new(marks, settings) }
end

-- Asks about all links and pictures at once. Returns the answers.
local function answers_to(parts)
  local questions, answers = {}, {}
  local function add(kind, target)
    if not answers[kind .. target] then questions[#questions + 1] = { kind = kind, target = target } end
    answers[kind .. target] = {}
  end
  for _, part in ipairs(parts) do
    if part.blocks then part.writer:questions(part.blocks, add) end
  end
  if #questions == 0 then return answers end
  write_frame("?" .. pandoc.json.encode(questions))
  for index, answer in ipairs(pandoc.json.decode(read_frame(), false)) do
    answers[questions[index].kind .. questions[index].target] = answer
  end
  return answers
end

-- Calls a function; what it throws becomes `{ problem = … }`.
local function caught(call, ...)
  local is_done, result = pcall(call, ...)
  return is_done and result or { problem = tostring(result):match("^[^\n]*") }
end

-- Returns a part with `lists`: its blocks as Markdown has them, and those of each of its notes.
local function with_lists(part, answers)
  local blocks, notes = part.writer:blocks(part.blocks, answers)
  part.lists = { blocks, table.unpack(notes) }
  return part
end

-- Returns for each text a table with its `tags` and `text`, the Markdown, or with the `problem`.
local function convert(settings, texts)
  local parts, lists = {}, {}
  for index, text in ipairs(texts) do parts[index] = caught(prepared, settings, text) end
  local answers = answers_to(parts)
  for index, part in ipairs(parts) do
    if part.blocks then parts[index] = caught(with_lists, part, answers) end
    elements.extend(lists, parts[index].lists or {})
  end
  local written, at = write_each(lists), 1
  for _, part in ipairs(parts) do
    if part.lists then
      local count = #part.lists
      part.text = part.writer:joined(written[at], table.move(written, at + 1, at + count - 1, 1, {}))
      at = at + count
    end
  end
  return parts
end

-- Values of pandoc stay in its memory until Lua collects what refers to them.
collectgarbage("generational")
write_frame("ready")
while true do
  local frame = read_frame()
  if not frame then break end
  local settings, texts = pandoc.json.decode(frame, false), {}
  for index = 1, settings.texts do texts[index] = read_frame() end
  local converted = caught(convert, settings, texts)
  for index = 1, #texts do
    local part = converted[index] or converted
    if part.problem then write_frame("!" .. part.problem)
    else
      write_frame("=" .. (#part.tags == 0 and "[]" or pandoc.json.encode(part.tags)))
      write_frame(part.text)
    end
  end
end
