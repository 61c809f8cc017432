-- What a document contains. Each walk over its inlines takes half as long as pandoc takes to read them, so those walks
-- are left out that have nothing to find.
local _M = {}

local NAMES = [[Emph Strong Strikeout Subscript Superscript Underline SmallCaps Quoted Cite Span Image Note Math Code
  RawInline LineBreak Figure Div Table DefinitionList LineBlock CodeBlock RawBlock]]

function _M.is_wiki_link(link) return link.classes:includes("wikilink") or link.title == "wikilink" end

-- Returns names of elements → true. `other_link`: one that the first filter of markdown.lua changes. `odd_link`: one
-- with a mark, or with a sign that inlines.lua changes. Calls `on_wiki_link(link)` for each.
function _M.of(doc, on_wiki_link)
  local seen, filter = {}, {}
  for name in NAMES:gmatch("%a+") do filter[name] = function() seen[name] = true end end
  function filter.Link(link)
    local text = pandoc.utils.stringify(link.content)
    local is_wiki_link = _M.is_wiki_link(link)
    seen.Link = true
    if text:find("[\xF3\xF4]") or text:find("^%s*[-=_]") then seen.odd_link = true end
    if not is_wiki_link or text:find("&amp;", 1, true) then seen.other_link = true end
    if is_wiki_link then on_wiki_link(link) end
  end
  doc:walk(filter)
  return seen
end

function _M.has_any(seen, names)
  for name in names:gmatch("%a[%a_]*") do
    if seen[name] then return true end
  end
  return false
end

return _M
