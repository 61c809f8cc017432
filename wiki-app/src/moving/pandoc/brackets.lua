-- Pairs `{{ }}`, `{{{ }}}` and `[[ ]]` in one pass, as a search from each opening one would take quadratic time.
-- Returns position of an opening → position of the last closing bracket.
return function(text, skip)
  local closing, open, braces = {}, {}, 0
  local at = 1

  local function close_braces(start, count)
    while count >= 2 and braces > 0 do
      local top = open[#open]
      if top.link then
        open[#open] = nil
      else
        local taken = math.min(3, count, top.count)
        top.count, count, start = top.count - taken, count - taken, start + taken
        closing[top.start + top.count] = start - 1
        if top.count < 2 then
          open[#open] = nil
          braces = braces - 1
        end
      end
    end
  end

  while true do
    local start = text:find("[<{}%[%]]", at)
    if not start then return closing end
    local run = text:match("^{+", start) or text:match("^}+", start) or text:match("^[%[%]]", start) or "<"
    local first = run:sub(1, 1)
    at = start + #run
    if first == "<" then
      local name, stop = skip:at(start)
      if name then at = stop + 1 end
    elseif first == "{" and #run >= 2 then
      open[#open + 1] = { start = start, count = #run }
      braces = braces + 1
    elseif first == "}" then
      close_braces(start, #run)
    elseif (first == "[" or first == "]") and text:sub(at, at) == first then
      at = at + 1
      local top = open[#open]
      if first == "[" then open[#open + 1] = { start = start, link = true }
      elseif top and top.link then
        -- Of `]]]` the last two close.
        closing[top.start] = at - 1
        open[#open] = nil
      end
    end
  end
end
