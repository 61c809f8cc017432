-- Tables as Markdown can have them: one line for a row, cells without blocks, none that spans others.
local elements = require("elements")
local walk = require("walk")

local _M = {}

local BREAK = "<br>"

local raw, extend = elements.raw, elements.extend

local flattened

local function lines_of(block)
  if block.t == "Para" or block.t == "Plain" then return { block.content } end
  if block.t == "Header" then return { { elements.strong(block.content) } } end
  if block.t == "BlockQuote" or block.t == "Div" or block.t == "Figure" then return { flattened(block.content) } end
  local code = block.t == "RawBlock" and block.text:match("^```[^\n]*\n(.-)\n?`+$")
  if code then
    local lines = {}
    for line in code:gmatch("[^\n]+") do lines[#lines + 1] = { elements.code(line) } end
    return lines
  end
  if block.t == "RawBlock" then return { { raw(block.text) } } end
  if block.t == "BulletList" or block.t == "OrderedList" then
    local lines = {}
    for index, item in ipairs(block.content) do
      local line = { elements.str(block.t == "BulletList" and "•" or index .. "."), elements.space() }
      extend(line, flattened(item))
      lines[#lines + 1] = line
    end
    return lines
  end
  if block.t == "Table" then
    local lines = {}
    for _, row in ipairs(_M.rows_of(block)) do
      local line = {}
      for _, cell in ipairs(row) do
        local inlines = flattened(cell)
        if #line > 0 and #inlines > 0 then extend(line, elements.words(" · ")) end
        extend(line, inlines)
      end
      if #line > 0 then lines[#lines + 1] = line end
    end
    return lines
  end
  return {}
end

-- Code with its `|` escaped, which pandoc does in texts alone.
local function code_span(text)
  local mark = "`"
  for run in text:gmatch("`+") do
    if #run >= #mark then mark = run .. "`" end
  end
  local space = (text:match("^`") or text:match("`$") or text:match("^ .* $")) and " " or ""
  return mark .. space .. text:gsub("|", "\\|") .. space .. mark
end

-- Returns inlines without a line's end.
function flattened(blocks)
  local inlines = {}
  for _, block in ipairs(blocks) do
    for _, line in ipairs(lines_of(block)) do
      if #inlines > 0 and #line > 0 then inlines[#inlines + 1] = raw(BREAK) end
      extend(inlines, line)
    end
  end
  return walk.inlines(inlines, {
    LineBreak = function() return raw(BREAK) end,
    SoftBreak = elements.space,
    Code = function(code) return raw(code_span(code.text)) end,
    RawInline = function(inline) return raw((inline.text:gsub("\\?|", "\\|"):gsub("\n", " "))) end
  })
end

-- DokuWiki's sign for a cell that the one above spans.
local function contents_of(cell)
  return walk.text(cell[5]) == ":::" and {} or cell[5]
end

local function append_rows(rows, source, occupied)
  for _, row in ipairs(source) do
    local cells, column = {}, 1
    local function skip_occupied()
      while (occupied[column] or 0) > 0 do
        occupied[column] = occupied[column] - 1
        cells[column] = {}
        column = column + 1
      end
    end
    for _, cell in ipairs(row[2]) do
      skip_occupied()
      for offset = 0, cell[4] - 1 do
        cells[column] = offset == 0 and contents_of(cell) or {}
        occupied[column] = cell[3] - 1
        column = column + 1
      end
    end
    skip_occupied()
    rows[#rows + 1] = cells
  end
end

-- pandoc has a head of one row, and forgets what spans more. The cells of the row after it belong below those cells
-- that span columns.
local function place_second_row(head, row)
  local below, count = {}, #row
  while count > 0 and #row[count] == 0 do count = count - 1 end
  local column = 1
  for _, cell in ipairs(head[2]) do
    for _ = 1, cell[4] do
      if cell[4] > 1 then below[#below + 1] = column end
      column = column + 1
    end
  end
  if count == #row or count ~= #below then return end
  local cells = table.move(row, 1, count, 1, {})
  for index = 1, #row do row[index] = {} end
  for index, cell in ipairs(cells) do row[below[index]] = cell end
end

-- Returns the rows, the first ones are of the head, and how many those are.
function _M.rows_of(source)
  local rows = {}
  local occupied = {}
  append_rows(rows, source.head[2], occupied)
  local heads = #rows
  for _, body in ipairs(source.bodies) do
    append_rows(rows, body[3], occupied)
    append_rows(rows, body[4], occupied)
  end
  append_rows(rows, source.foot[2], occupied)
  if heads == 1 and rows[2] then place_second_row(source.head[2][1], rows[2]) end
  return rows, heads
end

local function is_simple(blocks)
  return #blocks == 0 or (#blocks == 1 and (blocks[1].t == "Para" or blocks[1].t == "Plain"))
end

-- A table of one column that holds more than lines was made for the layout: its contents without it.
local function unwrapped(rows)
  local blocks, has_blocks = {}, false
  for _, row in ipairs(rows) do
    if #row > 1 then return nil end
    has_blocks = has_blocks or not is_simple(row[1] or {})
    extend(blocks, row[1] or {})
  end
  return has_blocks and blocks or nil
end

function _M.simplified(source)
  local rows, heads = _M.rows_of(source)
  local blocks = {}
  local caption = flattened(source.caption[2])
  if #caption > 0 then blocks[1] = elements.para({ elements.strong(caption) }) end
  local inner = unwrapped(rows)
  if inner then
    extend(blocks, inner)
    return blocks
  end

  local columns = #source.colspecs
  for _, row in ipairs(rows) do columns = math.max(columns, #row) end
  if columns == 0 then return blocks end
  local aligns, cells, head = {}, {}, {}
  for column = 1, columns do
    aligns[column] = source.colspecs[column] and source.colspecs[column][1] or { t = "AlignDefault" }
  end
  for index, row in ipairs(rows) do
    cells[index] = {}
    for column = 1, columns do cells[index][column] = { elements.plain(flattened(row[column] or {})) } end
  end
  if heads > 0 then
    head = table.remove(cells, 1)
  else
    for column = 1, columns do head[column] = {} end
  end
  blocks[#blocks + 1] = elements.table(aligns, head, cells)
  return blocks
end

return _M
