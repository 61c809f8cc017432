-- Parses the three forms of HTTP dates, RFC 9110 §5.6.7. Strict: an invalid date makes a response stale, never fresh.
-- Only letter case is ignored. The one zone is GMT, RFC 9111 §4.2; the form of asctime has none and means GMT.
local find, lower, match = string.find, string.lower, string.match

local _M = {}

local MONTHS = {
  jan = 1, feb = 2, mar = 3, apr = 4, may = 5, jun = 6, jul = 7, aug = 8, sep = 9, oct = 10, nov = 11, dec = 12,
}
local SHORT_DAYS = { mon = true, tue = true, wed = true, thu = true, fri = true, sat = true, sun = true }
local LONG_DAYS = {
  monday = true, tuesday = true, wednesday = true, thursday = true, friday = true, saturday = true, sunday = true,
}
local DAYS_IN_MONTH = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }
local DAY_S = 86400
local YEAR_S = 31557600
local TIME = "(%d%d):(%d%d):(%d%d)"
local IMF_FIXDATE = "^(%a%a%a), (%d%d) (%a%a%a) (%d%d%d%d) " .. TIME .. " gmt$"
local RFC_850 = "^(%a+), (%d%d)%-(%a%a%a)%-(%d%d) " .. TIME .. " gmt$"
local ASCTIME = "^(%a%a%a) (%a%a%a) ([ %d]%d) " .. TIME .. " (%d%d%d%d)$"

-- Days since 1970-01-01 in the proleptic Gregorian calendar. Years start in March, so that a leap day ends its year.
local function days_since_epoch(year, month, day)
  if month <= 2 then year, month = year - 1, month + 12 end
  local leap_days = math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400)
  return 365 * year + leap_days + math.floor((153 * (month - 3) + 2) / 5) + day - 719469
end

local function is_leap(year) return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) end

local function seconds(year, month_name, day, hour, minute, second)
  local month = MONTHS[month_name]
  year, day, hour, minute, second = tonumber(year), tonumber(day), tonumber(hour), tonumber(minute), tonumber(second)
  -- 60 is a leap second.
  if not month or day < 1 or day > DAYS_IN_MONTH[month] or hour > 23 or minute > 59 or second > 60 then return nil end
  if month == 2 and day == 29 and not is_leap(year) then return nil end
  return days_since_epoch(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second
end

--- Returns seconds since the epoch, or nil. `now_s` decides the century of a two-digit year.
function _M.parse(text, now_s)
  text = lower(text)
  if find(text, "^%a%a%a, ") then
    local weekday, day, month, year, hour, minute, second = match(text, IMF_FIXDATE)
    if not weekday or not SHORT_DAYS[weekday] then return nil end
    return seconds(year, month, day, hour, minute, second)
  end
  if find(text, "^%a+, ") then
    local weekday, day, month, year, hour, minute, second = match(text, RFC_850)
    if not weekday or not LONG_DAYS[weekday] then return nil end
    local century = math.floor((1970 + now_s / YEAR_S) / 100) * 100
    year = century + tonumber(year)
    local value = seconds(year, month, day, hour, minute, second)
    if not value or value <= now_s + 50 * YEAR_S then return value end
    return seconds(year - 100, month, day, hour, minute, second)
  end
  local weekday, month, day, hour, minute, second, year = match(text, ASCTIME)
  return weekday and SHORT_DAYS[weekday] and seconds(year, month, day, hour, minute, second) or nil
end

return _M
