-- SPDX-License-Identifier: Apache-2.0
-- lua_truth.lua MODE: a program whose truth is known, for Lua 5.1 to 5.4 and LuaJIT; it runs until it is killed.

local clock = os.clock

local function spin(n)
	local x = 0
	for i = 1, n do
		x = (x * 31 + i) % 65521
	end
	return x
end

-- 70, 20 and 10 % of the time: each burns CPU time until its share is used up.
local function until_time(seconds)
	local stop = clock() + seconds
	while clock() < stop do
		spin(500)
	end
end

-- A round is never as long as the one before, so that rounds don't fall in step with the sampling.
local unit = 0.001

function seventy()
	until_time(7 * unit)
end

local tools = {}

function tools.twenty()
	until_time(2 * unit)
end

function tools:ten()
	until_time(unit)
end

local modes = {}

function modes.split()
	unit = 0.0005 + 0.001 * math.random()
	seventy()
	tools.twenty()
	tools:ten()
end

local function dive(depth)
	if depth == 0 then
		until_time(0.05)
		return 1
	end
	return dive(depth - 1) + 1
end

function modes.deep()
	dive(500)
end

local function inside_coroutine(n)
	while true do
		until_time(0.01)
		coroutine.yield(n)
	end
end

local function resume_some()
	local threads = {}
	for i = 1, 4 do
		threads[i] = coroutine.create(inside_coroutine)
	end
	for _ = 1, 3 do
		for i = 1, 4 do
			assert(coroutine.resume(threads[i], i))
		end
	end
end

function modes.coroutines()
	resume_some()
end

local function compare(a, b)
	spin(100)
	return a < b
end

local function sort_some()
	local t = {}
	for i = 1, 400 do
		t[i] = (i * 7919) % 1009
	end
	table.sort(t, compare)
end

local function replace(word)
	spin(300)
	return word .. "!"
end

local function gsub_some()
	return (string.gsub(string.rep("word ", 200), "%w+", replace))
end

function modes.callbacks()
	sort_some()
	gsub_some()
end

local object = setmetatable({}, {
	__index = function(_, key)
		spin(500)
		return key
	end,
	__add = function(a, _)
		spin(500)
		return a
	end,
})

local function use_metamethods()
	for i = 1, 50 do
		local _ = object[i]
		_ = object + i
	end
end

function modes.metamethods()
	use_metamethods()
end

local function fail(depth)
	if depth == 0 then
		spin(500)
		error("in flight")
	end
	fail(depth - 1)
	return depth
end

local function guarded()
	fail(20)
end

local function handler(message)
	spin(500)
	return message
end

function modes.errors()
	pcall(guarded)
	xpcall(guarded, handler)
end

local function collect()
	local keep = {}
	for i = 1, 20000 do
		keep[i % 512] = {tostring(i), function() return i end}
	end
	return keep
end

function modes.garbage()
	collect()
	-- functions that come and go: a name must be that of the function which ran
	local text = "local function temporary() local x = 0 for i = 1, 20000 do x = x + i end return x end " ..
		"return temporary() "
	local load_text = loadstring or load
	assert(load_text(text, "=temporary"))()
end

function modes.tail()
	local function last(n)
		until_time(0.02)
		return n
	end
	local function first(n)
		return last(n)
	end
	first(1)
end

local mode = assert(modes[arg[1] or "split"])

io.stdout:setvbuf("no")
print("ready")

local function main_loop()
	while true do
		mode()
	end
end

main_loop()
