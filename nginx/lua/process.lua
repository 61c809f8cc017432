-- Other processes of this nginx.
local ffi = require("ffi")

local _M = {}

-- POSIX.1-2017, kill and nanosleep; usleep is that of the C library.
ffi.cdef([[
  int kill(int, int);
  int usleep(unsigned int);
]])
local ESRCH = 3

--- Whether there is no process with this id.
function _M.is_gone(pid)
  return ffi.C.kill(pid, 0) ~= 0 and ffi.errno() == ESRCH
end

--- Stops this worker for a while, with all its requests: only before the first one.
function _M.pause(duration_us)
  ffi.C.usleep(duration_us)
end

return _M
