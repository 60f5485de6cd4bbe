-- SPDX-License-Identifier: Apache-2.0
-- Lua that C calls, and that yields, all the time: pcall, sort, gsub, a coroutine, metamethods.
local function busy(turns)
	local total = 0
	for i = 1, turns do
		total = total + i
	end
	return total
end

local function compare(a, b)
	return busy(3) > 0 and a < b
end

local function sorts()
	table.sort({3, 1, 2}, compare)
end

local function guarded()
	local ok = pcall(sorts)
	return ok
end

local function replaces()
	local text = string.gsub("abc", "%w", function(letter)
		return busy(2) .. letter
	end)
	return text
end

local object = setmetatable({}, {
	__index = function(_, key)
		return busy(2) + key
	end,
	__tostring = function()
		return "object " .. busy(2)
	end,
})

local function uses()
	local value = object[3]
	return tostring(object) .. value
end

local steps = coroutine.wrap(function()
	while true do
		busy(2)
		coroutine.yield()
	end
end)

local function run()
	while true do
		guarded()
		replaces()
		uses()
		steps()
	end
end

print("ready")
io.stdout:flush()
run()
