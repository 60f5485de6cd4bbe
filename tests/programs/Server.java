// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executors;

/* A small HTTP server: prints "port N" and "ready", and answers until it is ended. */
public class Server {
	static String page(int items)
	{
		List<String> words = new ArrayList<>();
		StringBuilder out = new StringBuilder("<ul>");

		for (int i = 0; i < items; i++)
			words.add("word " + Integer.toHexString(i * 7919));
		Collections.sort(words, (a, b) -> b.compareTo(a));
		for (String word : words)
			out.append("<li>").append(word).append("</li>");
		return out.append("</ul>").toString();
	}

	static void answer(HttpExchange exchange) throws IOException
	{
		byte[] body = page(300).getBytes("UTF-8");

		exchange.sendResponseHeaders(200, body.length);
		try (OutputStream out = exchange.getResponseBody()) {
			out.write(body);
		}
	}

	public static void main(String[] arguments) throws Exception
	{
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 64);

		server.createContext("/", Server::answer);
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
		System.out.println("port " + server.getAddress().getPort());
		System.out.println("ready");
	}
}
