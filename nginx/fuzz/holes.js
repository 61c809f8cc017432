/**
 * Defects that the fuzzer must find: each removes a part of the canonicalisation of requests from a copy of lua/.
 * @typedef {{profile: 'cloudflare' | 'rfc9111', edits: [file: string, from: string, to: string][]}} Hole
 */

/** @type {Record<string, Hole>} */
export const HOLES = {
  'headers that Connection lists are not forwarded, but are part of the key': {
    profile: 'cloudflare',
    edits: [
      [
        'request.lua',
        'for name in pairs(connection_listed(fields.connection)) do fields[name] = nil end',
        'fields["\\0listed"] = connection_listed(fields.connection)'
      ],
      [
        'request.lua',
        'local var, lines = ngx.var, {}',
        'local var, lines = ngx.var, {}\n  local late = request.fields["\\0listed"]'
      ],
      [
        'request.lua',
        'if conditions or not CONDITIONS[name] then',
        'if name ~= "\\0listed" and not late[name] and (conditions or not CONDITIONS[name]) then'
      ]
    ]
  },
  'the fast path answers requests with any headers': {
    profile: 'rfc9111',
    edits: [['plain_request.lua', 'if is_unusual(fields[%d].key) then return false end', '']]
  },
  'the parts of the key have no length before them': {
    profile: 'rfc9111',
    edits: [[
      'request.lua',
      'parts[#parts + 1] = name .. "=" .. #value .. ":" .. value',
      'parts[#parts + 1] = name .. "=" .. value'
    ]]
  },
  'the origin gets codings in Accept-Encoding that are not part of the key': {
    profile: 'cloudflare',
    edits: [
      ['request.lua', 'fields["accept-encoding"] = encodings.asked(joined(fields["accept-encoding"]))', ''],
      ['vary.lua', 'local settings', 'local encodings = require("encodings")\nlocal settings'],
      [
        'vary.lua',
        'local value = normal(request.fields[name])',
        'local value = name == "accept-encoding" and encodings.asked(request.fields[name] ' +
          'and normal(request.fields[name])) or normal(request.fields[name])'
      ]
    ]
  },
  'only the first of several lines of a header is part of the key': {
    profile: 'cloudflare',
    edits: [[
      'request.lua',
      'local value = all[name]\n',
      'local value = all[name] and string.match(all[name], "^[^,]*")\n'
    ]]
  },
  'the values of parameters are not part of the key under No-Vary-Search': {
    profile: 'rfc9111',
    edits: [['no_vary_search.lua', 'name = name, text = text,', 'name = name, text = name,']]
  },
  'only the first parameter is part of the key under No-Vary-Search': {
    profile: 'rfc9111',
    edits: [['no_vary_search.lua', 'if not ignored then', 'if not ignored and count < 2 then']]
  }
}
