-- SPDX-License-Identifier: Apache-2.0
-- web.lua PORT: a web server on LuaSocket, one connection after the other. Each answer is what work.lua makes.
local socket = require("socket")
local work = assert(loadfile((arg[0]:gsub("web.lua$", "work.lua"))))
local server = assert(socket.bind("127.0.0.1", tonumber(arg[1]), 64))

local function answer(client)
	local line = client:receive("*l")
	while line and line ~= "" do
		line = client:receive("*l")
	end
	local page = work()
	client:send("HTTP/1.0 200 OK\r\nContent-Length: " .. #page .. "\r\n\r\n" .. page)
	client:close()
end

while true do
	local client = server:accept()
	if client then
		answer(client)
	end
end
