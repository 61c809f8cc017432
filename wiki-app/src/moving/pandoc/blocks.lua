-- Blocks that Markdown has in another form.
local maths = require("maths")

local _M = {}

local function is_blank(inline) return inline.t == "Space" or inline.t == "SoftBreak" or inline.t == "LineBreak" end

-- Lines that began with a space are code with line breaks, which pandoc writes as code each. Returns their text or nil.
local function preformatted(inlines, has_break)
  local text = {}
  for _, inline in ipairs(inlines) do
    if inline.t == "Code" and #inline.classes == 0 then text[#text + 1] = inline.text:gsub("\u{A0}", " ")
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
  return pandoc.RawBlock("gfm", fence .. (language or "") .. "\n" .. text:gsub("\n+$", "") .. "\n" .. fence)
end

-- A picture alone is a figure, for pandoc.
function _M.figure(figure)
  local blocks = pandoc.Blocks({})
  for _, block in ipairs(figure.content) do
    local image = block.content and block.content[1]
    if image and image.t == "Image" and #image.caption == 0 and image.title ~= image.src then
      image.caption = pandoc.utils.blocks_to_inlines(figure.caption.long)
      block = pandoc.Para({ image })
    end
    blocks:insert(block)
  end
  return blocks
end

local function has_code_or_maths(paragraph)
  local found = false
  local function find() found = true end
  paragraph:walk({ Code = find, Math = find })
  return found
end

-- A paragraph that is one formula, lines of code, or nothing but what is not converted.
function _M.paragraph(paragraph)
  if not has_code_or_maths(paragraph) then return nil end
  local content = paragraph.content:filter(function(inline) return not is_blank(inline) end)
  if #content == 0 then return nil end
  if #content == 1 and content[1].t == "Math" and content[1].mathtype == "DisplayMath" then
    return maths.block(content[1])
  end
  local text = preformatted(paragraph.content, false)
  if text then return _M.code(text) end
  local sources = {}
  for _, inline in ipairs(content) do
    if not (inline.t == "Code" and inline.attributes.source) then return nil end
    sources[#sources + 1] = inline.attributes.source
  end
  return _M.code(table.concat(sources, "\n"), content[1].attributes.language)
end

-- Code of several lines stands between the parts of its paragraph.
local function code_apart(paragraph)
  local blocks, part = pandoc.Blocks({}), pandoc.Inlines({})
  local function end_part()
    while #part > 0 and is_blank(part[#part]) do part:remove() end
    if #part > 0 then blocks:insert(paragraph.t == "Plain" and pandoc.Plain(part) or pandoc.Para(part)) end
    part = pandoc.Inlines({})
  end
  for _, inline in ipairs(paragraph.content) do
    local source = inline.t == "Code" and inline.attributes.source
    if source and source:find("\n", 1, true) then
      end_part()
      blocks:insert(_M.code(source, inline.attributes.language))
    elseif #part > 0 or not is_blank(inline) then part:insert(inline) end
  end
  end_part()
  return blocks
end

-- Whether there is anything to set apart. To look at each word from Lua takes longer than all of pandoc.
local function has_apart(paragraph)
  local found = false
  paragraph:walk({
    Code = function(code)
      local source = code.attributes.source
      found = found or (source and source:find("\n", 1, true)) ~= nil
    end,
    Span = function(span) found = found or span.classes:includes("thumb") end
  })
  return found
end

-- Pictures with a caption that is shown stand before their paragraph, each with its caption below.
function _M.apart(paragraph)
  if not has_apart(paragraph) then return nil end
  local blocks, rest = code_apart(paragraph), pandoc.Inlines({})
  if #blocks > 1 or (blocks[1] and blocks[1].t == "RawBlock") then
    return pandoc.Blocks(blocks):walk({ Para = _M.apart, Plain = _M.apart })
  end
  blocks = pandoc.Blocks({})
  for _, inline in ipairs(paragraph.content) do
    if inline.t == "Span" and inline.classes:includes("thumb") then
      blocks:insert(pandoc.Para({ inline.content[1] }))
      local caption = pandoc.Inlines({ table.unpack(inline.content, 2) })
      if #caption > 0 then blocks:insert(pandoc.Para(caption)) end
    elseif #rest > 0 or not is_blank(inline) then
      rest:insert(inline)
    end
  end
  if #blocks == 0 then return nil end
  if #rest == 0 then return blocks end
  paragraph.content = rest
  -- In a list the text comes first, so that it stands beside its bullet.
  if paragraph.t == "Plain" then blocks:insert(1, paragraph) else blocks:insert(paragraph) end
  return blocks
end

-- `; term : text` becomes a list, indented text a quote.
function _M.definitions(list)
  local blocks = pandoc.Blocks({})
  for _, item in ipairs(list.content) do
    local term, texts = item[1], item[2]
    local first = texts[1] and texts[1][1]
    if #term == 0 then
      for _, text in ipairs(texts) do
        local only = #text == 1 and text[1].t
        if only == "RawBlock" or only == "CodeBlock" or only == "Table" then blocks:extend(text)
        else blocks:insert(pandoc.BlockQuote(text)) end
      end
    elseif not first then
      blocks:insert(pandoc.Para({ pandoc.Strong(term) }))
    else
      local content = pandoc.Blocks({ pandoc.Plain({ pandoc.Strong(term) }) })
      if #texts == 1 and (first.t == "Plain" or first.t == "Para") then
        content[1].content:extend({ pandoc.Str(":"), pandoc.Space() })
        content[1].content:extend(first.content)
        for index = 2, #texts[1] do content:insert(texts[1][index]) end
      else
        content:insert(pandoc.BulletList(texts))
      end
      local last = blocks[#blocks]
      if last and last.t == "BulletList" then last.content:insert(content)
      else blocks:insert(pandoc.BulletList({ content })) end
    end
  end
  return blocks
end

return _M
