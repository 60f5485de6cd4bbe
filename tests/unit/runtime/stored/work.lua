-- SPDX-License-Identifier: Apache-2.0
-- What is stored of Lua and LuaJIT: a function called by C code (sort), recursion, a method, a coroutine.
local Worker = {}
Worker.__index = Worker

function busy(count)
	local total = 0
	for i = 1, count do
		total = total + i * count % 7
	end
	return total
end

function descend(level, count)
	if level > 0 then
		local below = descend(level - 1, count)
		return below + 1
	end
	local rows = {3, 1, 2}
	table.sort(rows, function(a, b)
		local used = busy(count)
		return a < b and used >= 0
	end)
	return rows[1]
end

function Worker:turn(count)
	local step = coroutine.wrap(function()
		local result = descend(4, count)
		coroutine.yield(result)
	end)
	local result = step()
	return result
end

function run()
	local worker = setmetatable({}, Worker)
	while true do
		worker:turn(20000)
	end
end

run()
