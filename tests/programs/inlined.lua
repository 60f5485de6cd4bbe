-- SPDX-License-Identifier: Apache-2.0
-- inlined.lua MODE SECONDS: functions that LuaJIT's compiler puts into their callers' code.

local function heavy(n)
	local s = 0
	for i = 1, n do s = s + i % 7 end
	return s
end

local function light(n)
	local s = 0
	for i = 1, n do s = s + i % 7 end
	return s
end

local function tiny(x) return x * 3 % 11 end

local function middle(x)
	local a = tiny(x)
	for k = 1, 6 do a = (a * 5 + k) % 1013 end
	return a
end

local function innermost(x)
	local s = x
	for _ = 1, 8 do s = s * 3 % 1009 end
	return s
end

local function third(x) return innermost(x) + 1 end
local function second(x) return third(x) * 2 end

local V = {__add = function(a, b)
	local s = 0
	for i = 1, 8 do s = s + i * a.v % b.v end
	return s
end}

local modes = {}

-- two loops in one function
function modes.loops() return heavy(700000) + light(100000) end

-- a small function and one with a loop of its own
function modes.small()
	local s = 0
	for i = 1, 100000 do s = s + middle(i) + tiny(i) end
	return s
end

function modes.deep()
	local s = 0
	for i = 1, 100000 do s = s + second(i) end
	return s
end

function modes.operator()
	local s, o = 0, setmetatable({v = 3}, V)
	for _ = 1, 100000 do s = s + (o + o) end
	return s
end

local run, start, sum = modes[arg[1]], os.clock(), 0
io.write("ready\n")
io.flush()
while os.clock() - start < tonumber(arg[2]) do sum = sum + run() end
