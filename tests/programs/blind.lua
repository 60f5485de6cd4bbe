-- SPDX-License-Identifier: Apache-2.0
-- blind.lua HOW SECONDS [FOLDER]: functions that end in code without unwind information. HOW: "module", a function of
-- blind_lua.so; "ffi", a call of libblind.so by LuaJIT's FFI, or "interpreted", without LuaJIT's compiler.

local how, seconds, folder = arg[1], tonumber(arg[2]), arg[3]
local spin

if how == "module" then
	package.cpath = folder .. "/?.so"
	spin = require("blind_lua")
else
	local ffi = require("ffi")
	ffi.cdef("long blind_spin(long turns);")
	local library = ffi.load(folder .. "/libblind.so")
	if how == "interpreted" then
		require("jit").off()
	end
	spin = function() return library.blind_spin(300000) end
end

local function inner()
	spin()
	return 1
end

local function outer()
	return inner() + 1
end

-- C between functions of Lua
local function by_sorting()
	local list = {2, 1}
	table.sort(list, function(a, b) outer() return a < b end)
	return list
end

local function in_a_coroutine()
	local routine = coroutine.wrap(by_sorting)
	return routine()
end

print("ready")
io.stdout:flush()
local until_then = os.clock() + seconds
while os.clock() < until_then do
	in_a_coroutine()
	by_sorting()
end
