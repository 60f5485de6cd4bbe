// SPDX-License-Identifier: Apache-2.0
// The engine of a current ClickHouse (npm chdb) behind as much of its HTTP as stackcam uses. Node's strings are not bytes:
// rows go in and out through files.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");

const [modules, folder, port] = process.argv.slice(2);
const { Session } = require(path.join(modules, "chdb"));
const session = new Session(path.join(folder, "data"));
const input = path.join(folder, "in.bin"), output = path.join(folder, "out.bin");

const quoted = (text) => `'${text.replace(/[\\']/g, "\\$&")}'`;

function insert(database, table, rows) {
	const columns = session.query(`DESCRIBE TABLE ${database}.${table}`, "JSONEachRow").trim().split("\n").map(JSON.parse);
	const structure = columns.map(({ name, type }) => `${name} ${type}`).join(", ");
	fs.writeFileSync(input, rows);
	session.query(`INSERT INTO ${database}.${table} SELECT * FROM file(${quoted(input)}, 'RowBinary', ${quoted(structure)})`);
	return Buffer.alloc(0);
}

function run(query, body) {
	const database = query.get("database") || "default", statement = query.get("query");
	session.query(`USE ${database}`);
	if (statement)
		return insert(database, /^INSERT INTO (\w+) FORMAT RowBinary$/.exec(statement)[1], body);
	const sql = body.toString().replace(/ FORMAT RowBinary$/, "");
	if (sql === body.toString())
		return Buffer.from(session.query(sql, "TabSeparated") || "");
	fs.rmSync(output, { force: true });
	session.query(`INSERT INTO FUNCTION file(${quoted(output)}, 'RowBinary') ${sql}`);
	return fs.existsSync(output) ? fs.readFileSync(output) : Buffer.alloc(0);
}

http.createServer((request, response) => {
	const pieces = [];
	request.on("data", (piece) => pieces.push(piece));
	request.on("end", () => {
		const url = new URL(request.url, "http://localhost");
		try {
			response.end(url.pathname === "/ping" ? "Ok.\n" : run(url.searchParams, Buffer.concat(pieces)));
		} catch (error) {
			response.statusCode = 500;
			response.end(String(error.message || error));
		}
	});
}).listen(Number(port), "127.0.0.1");
