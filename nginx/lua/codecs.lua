-- Compresses with the system's libbrotlienc, libzstd and libz. A library that is missing leaves out its codings.
local ffi = require("ffi")
local settings = require("settings")

local _M = {}

ffi.cdef([[
int BrotliEncoderCompress(int quality, int lgwin, int mode, size_t input_size, const char *input,
  size_t *encoded_size, uint8_t *encoded);
size_t BrotliEncoderMaxCompressedSize(size_t input_size);
void *BrotliEncoderCreateInstance(void *alloc, void *free, void *opaque);
int BrotliEncoderSetParameter(void *state, int parameter, uint32_t value);
int BrotliEncoderCompressStream(void *state, int operation, size_t *available_in, const char **next_in,
  size_t *available_out, uint8_t **next_out, size_t *total_out);
int BrotliEncoderIsFinished(void *state);
void BrotliEncoderDestroyInstance(void *state);
void *BrotliEncoderPrepareDictionary(int type, size_t size, const char *data, int quality, void *alloc, void *free,
  void *opaque);
int BrotliEncoderAttachPreparedDictionary(void *state, const void *dictionary);
void BrotliEncoderDestroyPreparedDictionary(void *dictionary);

size_t ZSTD_compressBound(size_t size);
unsigned ZSTD_isError(size_t code);
void *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(void *context);
size_t ZSTD_CCtx_setParameter(void *context, int parameter, int value);
size_t ZSTD_CCtx_refPrefix(void *context, const char *prefix, size_t size);
size_t ZSTD_compress2(void *context, uint8_t *out, size_t capacity, const char *input, size_t size);

typedef struct {
  const char *next_in; unsigned avail_in; unsigned long total_in;
  uint8_t *next_out; unsigned avail_out; unsigned long total_out;
  const char *msg; void *state; void *zalloc; void *zfree; void *opaque;
  int data_type; unsigned long adler; unsigned long reserved;
} stevec_z_stream;
const char *zlibVersion(void);
int deflateInit2_(stevec_z_stream *stream, int level, int method, int window_bits, int memory_level, int strategy,
  const char *version, int stream_size);
unsigned long deflateBound(stevec_z_stream *stream, unsigned long size);
int deflate(stevec_z_stream *stream, int flush);
int deflateEnd(stevec_z_stream *stream);
]])

-- No request is served meanwhile: levels that keep a body of a kind within about 10 ms (docs/decisions/0071).
local SMALL_BYTES = 64 * 1024
local BROTLI_SMALL, BROTLI_LARGE, BROTLI_WINDOW, BROTLI_TEXT = 5, 2, 20, 1
local ZSTD_SMALL, ZSTD_LARGE = 6, 3
local GZIP_SMALL, GZIP_LARGE = 6, 1
local ZSTD_LEVEL, ZSTD_WINDOW_LOG, ZSTD_WINDOW = 100, 101, 21
local Z_FINISH, Z_STREAM_END, Z_DEFLATED, Z_GZIP_WINDOW, Z_MEMORY = 4, 1, 8, 31, 8
local BROTLI_QUALITY, BROTLI_LGWIN, BROTLI_FINISH = 1, 2, 2

local function load(name)
  if not settings.compression then return nil end
  local found, library = pcall(ffi.load, name)
  if found then return library end
  ngx.log(ngx.NOTICE, "its codings are not offered: ", library)
end

local brotli, zstd, zlib = load("libbrotlienc.so.1"), load("libzstd.so.1"), load("libz.so.1")

local function level(text, small, large)
  return #text <= SMALL_BYTES and small or large
end

local function br(text)
  local size = ffi.new("size_t[1]", brotli.BrotliEncoderMaxCompressedSize(#text))
  local out = ffi.new("uint8_t[?]", size[0])
  local quality = level(text, BROTLI_SMALL, BROTLI_LARGE)
  local done = brotli.BrotliEncoderCompress(quality, BROTLI_WINDOW, BROTLI_TEXT, #text, text, size, out)
  return done == 1 and ffi.string(out, size[0]) or nil
end

-- With a dictionary or without one.
local function zst(text, dictionary)
  local context = zstd.ZSTD_createCCtx()
  if context == nil then return nil end
  zstd.ZSTD_CCtx_setParameter(context, ZSTD_LEVEL, level(text, ZSTD_SMALL, ZSTD_LARGE))
  if dictionary then
    -- The window has to reach back over the text to the dictionary's start.
    zstd.ZSTD_CCtx_setParameter(context, ZSTD_WINDOW_LOG, ZSTD_WINDOW)
    zstd.ZSTD_CCtx_refPrefix(context, dictionary, #dictionary)
  end
  local capacity = zstd.ZSTD_compressBound(#text)
  local out = ffi.new("uint8_t[?]", capacity)
  local size = zstd.ZSTD_compress2(context, out, capacity, text, #text)
  local failed = zstd.ZSTD_isError(size) ~= 0
  zstd.ZSTD_freeCCtx(context)
  return not failed and ffi.string(out, size) or nil
end

local function gzip(text)
  local stream = ffi.new("stevec_z_stream")
  local failed = zlib.deflateInit2_(
    stream, level(text, GZIP_SMALL, GZIP_LARGE), Z_DEFLATED, Z_GZIP_WINDOW, Z_MEMORY, 0, zlib.zlibVersion(),
    ffi.sizeof(stream)
  )
  if failed ~= 0 then return nil end
  local capacity = tonumber(zlib.deflateBound(stream, #text))
  local out = ffi.new("uint8_t[?]", capacity)
  stream.next_in, stream.avail_in, stream.next_out, stream.avail_out = text, #text, out, capacity
  local done = zlib.deflate(stream, Z_FINISH) == Z_STREAM_END
  local size = tonumber(stream.total_out)
  zlib.deflateEnd(stream)
  return done and ffi.string(out, size) or nil
end

local function finish_brotli(state, text)
  local capacity = brotli.BrotliEncoderMaxCompressedSize(#text)
  local out = ffi.new("uint8_t[?]", capacity)
  local available_in, available_out = ffi.new("size_t[1]", #text), ffi.new("size_t[1]", capacity)
  local next_in = ffi.new("const char *[1]", { ffi.cast("const char *", text) })
  local next_out = ffi.new("uint8_t *[1]", { out })
  brotli.BrotliEncoderCompressStream(
    state, BROTLI_FINISH, available_in, next_in, available_out, next_out, nil
  )
  if brotli.BrotliEncoderIsFinished(state) ~= 1 then return nil end
  return ffi.string(out, capacity - available_out[0])
end

local function br_with(text, dictionary)
  -- Below 5, libbrotli looks nothing up in a dictionary.
  local quality = BROTLI_SMALL
  local prepared = brotli.BrotliEncoderPrepareDictionary(0, #dictionary, dictionary, quality, nil, nil, nil)
  if prepared == nil then return nil end
  local state, body = brotli.BrotliEncoderCreateInstance(nil, nil, nil), nil
  if state ~= nil then
    brotli.BrotliEncoderSetParameter(state, BROTLI_QUALITY, quality)
    brotli.BrotliEncoderSetParameter(state, BROTLI_LGWIN, BROTLI_WINDOW)
    if brotli.BrotliEncoderAttachPreparedDictionary(state, prepared) == 1 then body = finish_brotli(state, text) end
    brotli.BrotliEncoderDestroyInstance(state)
  end
  brotli.BrotliEncoderDestroyPreparedDictionary(prepared)
  return body
end

-- libbrotli has dictionaries since 1.1.
local dictionaries_of_brotli = brotli and pcall(function() return brotli.BrotliEncoderPrepareDictionary end)
-- RFC 9842 §4 and §5: what comes before the dictionary's hash.
local DCB, DCZ = "\255\68\67\66", "\94\42\77\24\32\0\0\0"

local MAKE = {
  br = brotli and br, zstd = zstd and zst, gzip = zlib and gzip,
  dcb = dictionaries_of_brotli and function(text, dictionary, hash)
    local body = br_with(text, dictionary)
    return body and DCB .. hash .. body
  end,
  dcz = zstd and function(text, dictionary, hash)
    local body = zst(text, dictionary)
    return body and DCZ .. hash .. body
  end,
}

--- In the order in which the edge prefers them: a body is made once and sent often, so the smallest first.
_M.CODINGS = { "br", "zstd", "gzip" }
--- What differs has nearly the same size in both, and dcz takes a tenth of the time (nginx/bench/codecs.js).
_M.DICTIONARY_CODINGS = { "dcz", "dcb" }

function _M.has(coding)
  return MAKE[coding] and true or false
end

--- Returns the compressed text, or nil. dictionary, hash: its SHA-256; only for DICTIONARY_CODINGS
function _M.compress(coding, text, dictionary, hash)
  return MAKE[coding](text, dictionary, hash)
end

return _M
