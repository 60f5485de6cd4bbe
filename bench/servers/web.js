// SPDX-License-Identifier: Apache-2.0
// A web server in JavaScript, on Node.js: web.js PORT [timed]. Each answer is parsed, priced and rendered. If timed,
// /clock answers how much time each step has taken so far, as JSON.
"use strict";

const http = require("http");

const order = JSON.stringify(Array.from({ length: 400 }, (_, i) => ({
	id: i, name: `part ${i * 7919 % 211}`, price: i * 13 % 97,
})));

function parseOrder(text) {
	return JSON.parse(text).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function discount(row, level) {
	return level === 0 ? row.price : discount(row, level - 1) * 0.99;
}

function priceRows(rows) {
	return rows.map((row) => ({ name: row.name, price: discount(row, 8) }));
}

function renderPage(rows) {
	const lines = [];
	for (const row of rows)
		lines.push(`<li>${row.name.toUpperCase()}: ${row.price.toFixed(2)}</li>`);
	return `<ul>${lines.join("\n")}</ul>`;
}

const isTimed = process.argv[3] === "timed";
const clock = { parseOrder: 0, priceRows: 0, renderPage: 0 };

function timed() {
	const times = [performance.now()];
	const rows = parseOrder(order);
	times.push(performance.now());
	const prices = priceRows(rows);
	times.push(performance.now());
	const page = renderPage(prices);
	times.push(performance.now());
	Object.keys(clock).forEach((name, step) => { clock[name] += times[step + 1] - times[step]; });
	return page;
}

const server = http.createServer((request, response) => {
	if (isTimed && request.url === "/clock") {
		response.end(JSON.stringify(clock));
		return;
	}
	response.setHeader("Content-Type", "text/html");
	response.end(isTimed ? timed() : renderPage(priceRows(parseOrder(order))));
});
// ended in an orderly way, node writes what --cpu-prof has
process.on("SIGTERM", () => process.exit(0));
server.listen(Number(process.argv[2]), "127.0.0.1");
