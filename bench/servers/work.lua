-- SPDX-License-Identifier: Apache-2.0
-- What a Lua server does for each request: parses an order, prices and renders it. Runs in Redis (EVAL) and in nginx.
local function parse_order(count)
	local rows = {}
	local text = {}
	for i = 1, count do
		text[#text + 1] = i .. ";part " .. (i * 7919 % 211) .. ";" .. (i * 13 % 97)
	end
	for id, name, price in table.concat(text, "\n"):gmatch("(%d+);([^;]+);(%d+)") do
		rows[#rows + 1] = {id = tonumber(id), name = name, price = tonumber(price)}
	end
	table.sort(rows, function(a, b) return a.name < b.name end)
	return rows
end

local function discount(row, level)
	if level == 0 then
		return row.price
	end
	return discount(row, level - 1) * 0.99
end

local function price_rows(rows)
	for i = 1, #rows do
		local price = discount(rows[i], 8)
		rows[i].price = price
	end
	return rows
end

local function render_page(rows)
	local lines = {}
	for i = 1, #rows do
		lines[i] = string.format("<li>%s: %.2f</li>", rows[i].name:upper(), rows[i].price)
	end
	return "<ul>" .. table.concat(lines, "\n") .. "</ul>"
end

local page = render_page(price_rows(parse_order(200)))
return page
