-- No-Vary-Search (draft-ietf-httpbis-no-vary-search): query parameters that do not change a response. A lookup cannot
-- know the header of the response that it looks for, so the edge remembers the last one of each path.
local settings = require("settings")
local structured_field = require("structured_field")
local structured_list = require("structured_list")
local paths = ngx.shared.no_vary_search

local byte, find, gsub, match, sub = string.byte, string.find, string.gsub, string.match, string.sub

local _M = {}

-- Beyond these limits a header or a query counts as it is: less is shared, never too much.
local HEADER_BYTES_MAX = 4096
local PARAMETERS_MAX = 256
local PARSED_MAX = 1000

local KEYS = { params = true, except = true, ["key-order"] = true }

local function from_hex(digits)
  return string.char(tonumber(digits, 16))
end

-- As in forms: https://url.spec.whatwg.org/#concept-urlencoded-parser
local function decoded(text)
  if not find(text, "[%%+]") then return text end
  return (gsub(gsub(text, "+", " "), "%%(%x%x)", from_hex))
end

-- Returns the names of an inner list of strings as a set; nil when it is something else.
local function set_of(list)
  if type(list) ~= "string" or byte(list) ~= 40 then return nil end
  local set, at = {}, match(list, "^%([ ]*()")
  while byte(list, at) ~= 41 do
    if byte(list, at) ~= 34 then return nil end
    local _, last = structured_field.read_bare_item(list, at)
    set[decoded(structured_list.text(list, at, last))] = true
    at = match(list, "^[ ]*()", structured_field.skip_parameters(list, last + 1))
  end
  return set
end

-- Returns ignored (a set of names) or kept (a set; others are ignored), and sorted; nil for a header without effect.
-- An unknown key voids the header: it may limit what the others say.
local function parse(text)
  local members = #text <= HEADER_BYTES_MAX and structured_field.dictionary(text, true)
  if not members then return nil end
  for key in pairs(members) do
    if not KEYS[key] then return nil end
  end
  local params, except, order = members.params, members.except, members["key-order"]
  if order ~= nil and order ~= true then return nil end
  if except ~= nil then
    local kept = params == true and set_of(except)
    return kept and { kept = kept, sorted = order } or nil
  end
  if params == true then return { kept = {}, sorted = order } end
  if params ~= nil then
    local ignored = set_of(params)
    return ignored and { ignored = ignored, sorted = order } or nil
  end
  return order and { ignored = {}, sorted = order } or nil
end

-- Header → its rule, or false. Origins send few different ones; one that sends many empties the table.
local parsed, parsed_count = {}, 0

local function rule_of(text)
  local rule = parsed[text]
  if rule == nil then
    if parsed_count >= PARSED_MAX then parsed, parsed_count = {}, 0 end
    rule = parse(text) or false
    parsed[text], parsed_count = rule, parsed_count + 1
  end
  return rule
end

-- The parameters that count, as they are spelled, or nil when there are too many.
local function counting(query, rule)
  local list, count = {}, 0
  for text in string.gmatch(query, "[^&]+") do
    count = count + 1
    if count > PARAMETERS_MAX then return nil end
    local name = decoded(match(text, "^[^=]*"))
    local ignored
    if rule.kept then ignored = not rule.kept[name] else ignored = rule.ignored[name] end
    if not ignored then list[#list + 1] = { name = name, text = text, at = count } end
  end
  return list
end

-- A parameter keeps its place among those of the same name.
local function earlier(one, other)
  if one.name ~= other.name then return one.name < other.name end
  return one.at < other.at
end

--- Returns the header of a response, or the one that the settings assume for a response without it, when it has an
-- effect. Cloudflare does not document the header.
function _M.said_by(fields)
  local lines = settings.profile ~= "cloudflare" and fields["no-vary-search"]
  local text = lines and table.concat(lines, ", ") or settings.assumed_no_vary_search
  return text and rule_of(text) and text or nil
end

--- Raises an error when the assumed header has no effect.
function _M.init()
  local assumed = settings.assumed_no_vary_search
  if assumed and not rule_of(assumed) then error("No-Vary-Search: " .. assumed .. " has no effect", 0) end
end

--- Returns the URI that stands for all those that the header makes equal; itself a URI without an effect of the header.
function _M.canonical(uri, header)
  local at = header and find(uri, "?", 1, true)
  if not at then return uri end
  local rule = rule_of(header)
  local list = counting(sub(uri, at + 1), rule)
  if not list then return uri end
  if rule.sorted then table.sort(list, earlier) end
  for index = 1, #list do list[index] = list[index].text end
  local path = sub(uri, 1, at - 1)
  return #list == 0 and path or path .. "?" .. table.concat(list, "&")
end

--- Returns the address (or URI) without its query.
function _M.path_of(address)
  local at = find(address, "?", 1, true)
  return at and sub(address, 1, at - 1) or address
end

--- Returns the header that the last stored response of the address's path had, or nil.
function _M.known(address)
  local known = paths:get(_M.path_of(address)) or settings.assumed_no_vary_search
  return known ~= "" and known or nil
end

--- Returns whether an entry under the request's key is for its URL: if the key is that of several URLs, the entry must
-- itself have the header that made the request's key.
function _M.serves(entry, request)
  local header = entry.no_vary_search
  return entry.uri == request.uri or header ~= nil and header == request.no_vary_search
end

--- Remembers the header of a stored response, or that it has none. Without room the least recently used is forgotten.
function _M.remember(entry)
  local path, header = _M.path_of(entry.host .. entry.uri), entry.no_vary_search
  -- Empty: no effect, although one is assumed.
  local kept = header ~= settings.assumed_no_vary_search and (header or "") or nil
  if paths:get(path) == kept then return end
  if kept then paths:set(path, kept) else paths:delete(path) end
end

return _M
