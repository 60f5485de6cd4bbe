-- SPDX-License-Identifier: Apache-2.0
-- deep.lua DEPTH SECONDS: works below so many functions, by pieces; in the end prints when each began and how long it took.
local depth, seconds = tonumber(arg[1]), tonumber(arg[2])
local now_ns = function() return os.clock() * 1e9 end
local has_ffi, ffi = pcall(require, "ffi")
if has_ffi then
	ffi.cdef("struct timespec { long s, ns; }; int clock_gettime(int, struct timespec *);")
	local t = ffi.new("struct timespec")
	now_ns = function()
		ffi.C.clock_gettime(1, t)
		return tonumber(t.s) * 1e9 + tonumber(t.ns)
	end
end

local text = {[[
function f0(turns)
	local total = 0
	for i = 1, turns do
		total = (total + i * 7) % 1000003
	end
	return total
end]]}
for i = 1, depth - 1 do
	text[#text + 1] = ("function f%d(turns) local result = f%d(turns) return result end"):format(i, i - 1)
end
assert((loadstring or load)(table.concat(text, "\n"), "@deep"))()
local top, now = _G["f" .. depth - 1], now_ns()
-- about a millisecond
local pieces, pieces_of = {}, jit and 70000 or 20000
local finish = now + seconds * 1e9
while now < finish do
	top(pieces_of)
	local before = now
	now = now_ns()
	pieces[#pieces + 1] = ("%.0f %.0f"):format(before, now - before)
end
print(table.concat(pieces, "\n"))
