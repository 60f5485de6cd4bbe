// SPDX-License-Identifier: GPL-2.0
// A web server under the load of a client in a process of its own: "node node_server.js SECONDS".
'use strict';

const http = require('http');
const { spawn } = require('child_process');

const items = new Map();
for (let i = 0; i < 1000; i++)
	items.set(`k${i}`, { id: i, tags: ['a', 'b', String(i)] });

class Store {
	find(key) {
		return items.get(key) || null;
	}

	list(divisor) {
		return [...items.values()].filter((item) => item.id % divisor === 0);
	}
}

const store = new Store();

function reply(response, value) {
	response.setHeader('content-type', 'application/json');
	response.end(JSON.stringify(value));
}

async function route(request, response) {
	const url = new URL(request.url, 'http://localhost');
	await null;
	if (url.pathname === '/list')
		return reply(response, store.list(7));
	return reply(response, store.find(url.searchParams.get('key')));
}

function serve(seconds) {
	const server = http.createServer(route);
	server.listen(0, '127.0.0.1', () => {
		const client = spawn(process.execPath,
			[__filename, 'client', server.address().port, seconds], { stdio: 'ignore' });
		client.on('exit', () => process.exit());
		server.once('request', () => process.stdout.write('ready\n'));
	});
}

function ask(port, end) {
	const agent = new http.Agent({ keepAlive: true, maxSockets: 4 });
	let asked = 0;
	function next() {
		if (Date.now() > end)
			process.exit();
		asked++;
		http.get({ host: '127.0.0.1', port, agent, path: asked % 3 ? '/list' : `/?key=k${asked % 1000}` },
			(response) => response.resume().on('end', next));
	}
	for (let i = 0; i < 4; i++)
		next();
}

if (process.argv[2] === 'client')
	ask(Number(process.argv[3]), Date.now() + 1000 * Number(process.argv[4]));
else
	serve(Number(process.argv[2]));
