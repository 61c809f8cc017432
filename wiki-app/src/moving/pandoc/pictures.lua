-- Parts of `[[File:name|option|caption]]`. https://www.mediawiki.org/wiki/Help:Images
local _M = {}

-- English, and what wikis in German, French and Spanish write.
local OPTIONS, THUMBS = {}, {}
for word in ([[border frameless left right center centre none baseline sub super top text-top middle bottom text-bottom
  upright rechts links zentriert ohne rahmenlos hochkant gauche droite centré néant izquierda derecha centro
  ninguna]]):gmatch("%S+") do
  OPTIONS[word] = true
end
for word in ([[thumb thumbnail frame framed enframed mini miniatur gerahmt vignette cadre miniatura
  marco]]):gmatch("%S+") do
  THUMBS[word] = true
end
local KEYS = {}
for word in ("link alt page class lang upright thumb thumbnail start end hochkant mini verweis"):gmatch("%S+") do
  KEYS[word] = true
end

-- Where the text is cut at `|`, outside of links and templates: at most `PARTS_MAX` parts.
local PARTS_MAX = 50

local function parts_of(text, from, to, closing)
  local parts, start, at = {}, from, from
  while #parts < PARTS_MAX do
    local found = text:find("[|{%[]", at)
    if not found or found > to then break end
    if text:sub(found, found) == "|" then
      parts[#parts + 1] = { start, found - 1 }
      start = found + 1
    end
    at = (closing[found] and closing[found] <= to and closing[found] or found) + 1
  end
  parts[#parts + 1] = { start, to }
  return parts
end

-- Returns the name, `thumb` for a picture with a caption that is shown, `alt`, and the caption's range, if any.
function _M.parse(text, from, to, closing)
  local parts = parts_of(text, from, to, closing)
  local picture = { name = text:sub(parts[1][1], parts[1][2]), thumb = false }
  for index = 2, #parts do
    local part = text:sub(parts[index][1], parts[index][2]):gsub("^%s+", ""):gsub("%s+$", "")
    local key, value = part:match("^([%a]+)%s*=%s*(.*)$")
    if THUMBS[part] then picture.thumb = true
    elseif key and KEYS[key] then
      if key == "alt" then picture.alt = value end
      if key == "thumb" or key == "thumbnail" then picture.thumb = true end
    elseif part ~= "" and not OPTIONS[part] and not part:match("^%d*x?%d+%s*px$") then
      picture.from, picture.to = parts[index][1], parts[index][2]
    end
  end
  return picture
end

return _M
