-- pandoc refuses a whole text for one faulty table. What it cannot read is left as code.
local _M = {}

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  return lines
end

-- The innermost table around a line, nil for none.
local function table_around(lines, number)
  local open = {}
  for index, line in ipairs(lines) do
    if line:match("^[%s:*#]*{|") then open[#open + 1] = index
    elseif line:match("^%s*|}") and #open > 0 then
      local start = table.remove(open)
      if start <= number and number <= index then return start, index end
    end
    if index > number and #open == 0 then return nil end
  end
  if #open > 0 and open[1] <= number then return open[1], #lines end
end

local function paragraph_around(lines, number)
  local first, last = number, number
  while first > 1 and lines[first - 1]:match("%S") do first = first - 1 end
  while last < #lines and lines[last + 1]:match("%S") do last = last + 1 end
  return first, last
end

-- Returns the text without what the message of pandoc is about; nil when the message names no line.
function _M.without_fault(text, message, marks)
  local number = tonumber(message:match("line (%d+)"))
  if not number then return nil end
  if message:find("unexpected end of input", 1, true) and not text:match("\n|}$") then return text .. "\n|}" end
  local lines = lines_of(text)
  number = math.max(1, math.min(number, #lines))
  local first, last = table_around(lines, number)
  if not first then first, last = paragraph_around(lines, number) end
  -- Around templates mediawiki.lua put empty lines.
  local faulty = table.concat(lines, "\n", first, last):gsub("\n\n([\xF3\xF4][\x80-\xBF]+)\n\n", "\n%1\n")
  local source = marks:restored(faulty)
  local mark = marks:add({ kind = "code", source = source })
  return table.concat(lines, "\n", 1, first - 1) .. "\n\n" .. mark .. "\n\n" .. table.concat(lines, "\n", last + 1)
end

return _M
