-- Blocks that Markdown has in another form.
local elements = require("elements")
local maths = require("maths")
local walk = require("walk")

local _M = {}

local function is_blank(inline) return inline.t == "Space" or inline.t == "SoftBreak" or inline.t == "LineBreak" end

-- Lines that began with a space are code with line breaks, which pandoc writes as code each. Returns their text or nil.
local function preformatted(inlines, has_break)
  local text = {}
  for _, inline in ipairs(inlines) do
    if inline.t == "Code" and #inline.attr[2] == 0 then text[#text + 1] = inline.text:gsub("\u{A0}", " ")
    elseif inline.t == "LineBreak" then
      text[#text + 1] = "\n"
      has_break = true
    elseif inline.t == "Emph" or inline.t == "Strong" or inline.t == "Link" then
      local inner = preformatted(inline.content, true)
      if not inner then return nil end
      text[#text + 1] = inner
    else return nil end
  end
  return has_break and table.concat(text) or nil
end

-- A fence, whatever the code: indented code would belong to a list before it.
function _M.code(text, language)
  local fence = "```"
  for run in text:gmatch("`+") do
    if #run >= #fence then fence = run .. "`" end
  end
  return elements.raw_block(fence .. (language or "") .. "\n" .. text:gsub("\n+$", "") .. "\n" .. fence)
end

local function inlines_of(blocks)
  local out = {}
  for index, block in ipairs(blocks) do
    if index > 1 then out[#out + 1] = { t = "LineBreak" } end
    elements.extend(out, block.content)
  end
  return out
end

-- A picture alone is a figure, for pandoc.
function _M.figure(figure)
  for index, block in ipairs(figure.content) do
    local image = block.content and block.content[1]
    if image and image.t == "Image" and #image.caption == 0 and image.place[2] ~= image.place[1] then
      image.caption = inlines_of(figure.caption[2])
      figure.content[index] = elements.para({ image })
    end
  end
  return figure.content
end

local function has_code(paragraph)
  local found = false
  walk.within(paragraph, { Code = function() found = true end })
  return found
end

-- A paragraph that is one formula, lines of code, or nothing but what is not converted.
function _M.paragraph(paragraph)
  local content = {}
  for _, inline in ipairs(paragraph.content) do
    if not is_blank(inline) then content[#content + 1] = inline end
  end
  if #content == 0 then return nil end
  if #content == 1 and content[1].t == "Math" and content[1].mathtype.t == "DisplayMath" then
    return maths.block(content[1])
  end
  local text = preformatted(paragraph.content, false)
  if text and has_code(paragraph) then return _M.code(text) end
  local sources = {}
  for _, inline in ipairs(content) do
    local source = inline.t == "Code" and elements.attribute(inline, "source")
    if not source then return nil end
    sources[#sources + 1] = source
  end
  return _M.code(table.concat(sources, "\n"), elements.attribute(content[1], "language"))
end

-- Code of several lines stands between the parts of its paragraph.
local function code_apart(paragraph)
  local blocks, part = {}, {}
  local function end_part()
    while #part > 0 and is_blank(part[#part]) do part[#part] = nil end
    if #part > 0 then blocks[#blocks + 1] = { t = paragraph.t, content = part } end
    part = {}
  end
  for _, inline in ipairs(paragraph.content) do
    local source = inline.t == "Code" and elements.attribute(inline, "source")
    if source and source:find("\n", 1, true) then
      end_part()
      blocks[#blocks + 1] = _M.code(source, elements.attribute(inline, "language"))
    elseif #part > 0 or not is_blank(inline) then part[#part + 1] = inline end
  end
  end_part()
  return blocks
end

local function is_thumb(inline) return inline.t == "Span" and elements.has_class(inline, "thumb") end

-- Pictures with a caption that is shown stand before their paragraph, each with its caption below.
function _M.apart(paragraph)
  local blocks, rest = code_apart(paragraph), {}
  if #blocks > 1 or (blocks[1] and blocks[1].t == "RawBlock") then
    return walk.blocks(blocks, { Para = _M.apart, Plain = _M.apart })
  end
  blocks = {}
  for _, inline in ipairs(paragraph.content) do
    if is_thumb(inline) then
      blocks[#blocks + 1] = elements.para({ inline.content[1] })
      local caption = table.move(inline.content, 2, #inline.content, 1, {})
      if #caption > 0 then blocks[#blocks + 1] = elements.para(caption) end
    elseif #rest > 0 or not is_blank(inline) then
      rest[#rest + 1] = inline
    end
  end
  if #blocks == 0 then return nil end
  if #rest == 0 then return blocks end
  paragraph.content = rest
  -- In a list the text comes first, so that it stands beside its bullet.
  table.insert(blocks, paragraph.t == "Plain" and 1 or #blocks + 1, paragraph)
  return blocks
end

-- `; term : text` becomes a list, indented text a quote.
function _M.definitions(list)
  local blocks = {}
  for _, item in ipairs(list.content) do
    local term, texts = item[1], item[2]
    local first = texts[1] and texts[1][1]
    if #term == 0 then
      for _, text in ipairs(texts) do
        local only = #text == 1 and text[1].t
        if only == "RawBlock" or only == "CodeBlock" or only == "Table" then elements.extend(blocks, text)
        else blocks[#blocks + 1] = { t = "BlockQuote", content = text } end
      end
    elseif not first then
      blocks[#blocks + 1] = elements.para({ elements.strong(term) })
    else
      local content = { elements.plain({ elements.strong(term) }) }
      if #texts == 1 and (first.t == "Plain" or first.t == "Para") then
        elements.extend(content[1].content, { elements.str(":"), elements.space() })
        elements.extend(content[1].content, first.content)
        for index = 2, #texts[1] do content[#content + 1] = texts[1][index] end
      else
        content[2] = { t = "BulletList", content = texts }
      end
      local last = blocks[#blocks]
      if last and last.t == "BulletList" then last.content[#last.content + 1] = content
      else blocks[#blocks + 1] = { t = "BulletList", content = { content } } end
    end
  end
  return blocks
end

return _M
