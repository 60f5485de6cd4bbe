// SPDX-License-Identifier: Apache-2.0
// Serves HTTP with a virtual thread for each request: each holds a monitor for 30 ms, so that those that
// come meanwhile wait for it. Prints its port.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

class VirtualServer {
	static final Object monitor = new Object();

	static void work() {
		synchronized (monitor) {
			try {
				Thread.sleep(30);
			} catch (InterruptedException e) {
				throw new RuntimeException(e);
			}
		}
	}

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);

		server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
		server.createContext("/slow", exchange -> {
			byte[] body = {'o', 'k'};

			work();
			exchange.sendResponseHeaders(200, body.length);
			exchange.getResponseBody().write(body);
			exchange.close();
		});
		server.start();
		System.out.println(server.getAddress().getPort());
	}
}
