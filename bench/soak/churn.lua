-- SPDX-License-Identifier: Apache-2.0
-- churn.lua SECONDS: makes functions, runs them and lets go of them. leaf_N is called by mid_N, that by top_N only.
local source = [[
function leaf_N(count)
	local total = 0
	for i = 1, count do
		total = total + i % 7
	end
	return total
end

function mid_N(count)
	local result = leaf_N(count) + 1
	return result
end

function top_N(count)
	local result = mid_N(count) + 1
	return result
end
]]
local load_text = loadstring or load

-- What was made last is kept for some turns: a recorder that gets no CPU at once must find whom it has seen.
local KEPT = 4096
local kept = {}

function drive(number, count)
	local chunk = assert(load_text((source:gsub("_N", "_" .. number)), "@churn-" .. number))
	chunk()
	kept[number % KEPT] = {_G["top_" .. number], _G["mid_" .. number], _G["leaf_" .. number]}
	local result = _G["top_" .. number](count)
	_G["top_" .. number], _G["mid_" .. number], _G["leaf_" .. number] = nil, nil, nil
	return result
end

local seconds = tonumber(arg[1])
local finish, turns, expected = os.time() + seconds, 0, 2

-- Not before a quarter of the time was spent on a CPU, but then soon: a busy machine makes it longer, not its samples few.
local function is_over()
	return os.time() >= finish and (os.clock() >= seconds / 4 or os.time() >= finish + 20)
end

for i = 1, 3000 do
	expected = expected + i % 7
end
while not is_over() do
	local result = drive(math.random(0, 99999), 3000)
	if result ~= expected then
		error("a wrong result")
	end
	turns = turns + 1
	if jit and turns % 50 == 0 then
		jit.flush()
	end
end
