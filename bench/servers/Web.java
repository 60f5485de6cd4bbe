// SPDX-License-Identifier: Apache-2.0
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A web server in Java: the JDK's own, with a pool of threads: Web PORT [timed]. Each answer is parsed, priced and
 * rendered. If timed, /clock answers how much CPU time each step has taken so far, as JSON.
 */
public class Web {
	record Row(int id, String name, double price) {
	}

	static final String ORDER = order();

	static String order() {
		StringBuilder text = new StringBuilder();
		for (int i = 0; i < 400; i++)
			text.append(i).append(";part ").append(i * 7919 % 211).append(';').append(i * 13 % 97).append('\n');
		return text.toString();
	}

	static List<Row> parseOrder(String text) {
		List<Row> rows = new ArrayList<>();
		for (String line : text.split("\n")) {
			String[] parts = line.split(";");
			rows.add(new Row(Integer.parseInt(parts[0]), parts[1], Double.parseDouble(parts[2])));
		}
		rows.sort(Comparator.comparing(Row::name));
		return rows;
	}

	static double discount(Row row, int level) {
		return level == 0 ? row.price() : discount(row, level - 1) * 0.99;
	}

	static List<Row> priceRows(List<Row> rows) {
		List<Row> priced = new ArrayList<>();
		for (Row row : rows)
			priced.add(new Row(row.id(), row.name(), discount(row, 8)));
		return priced;
	}

	static String renderPage(List<Row> rows) {
		StringBuilder page = new StringBuilder("<ul>");
		for (Row row : rows)
			page.append(String.format("<li>%s: %.2f</li>\n", row.name().toUpperCase(), row.price()));
		return page.append("</ul>").toString();
	}

	static final AtomicLongArray CLOCK = new AtomicLongArray(3);

	static String timed() {
		ThreadMXBean clock = ManagementFactory.getThreadMXBean();
		long start = clock.getCurrentThreadCpuTime();
		List<Row> rows = parseOrder(ORDER);
		long parsed = clock.getCurrentThreadCpuTime();
		List<Row> prices = priceRows(rows);
		long priced = clock.getCurrentThreadCpuTime();
		String page = renderPage(prices);
		CLOCK.addAndGet(0, parsed - start);
		CLOCK.addAndGet(1, priced - parsed);
		CLOCK.addAndGet(2, clock.getCurrentThreadCpuTime() - priced);
		return page;
	}

	static String clock() {
		return String.format("{\"Web.parseOrder\": %d, \"Web.priceRows\": %d, \"Web.renderPage\": %d}",
			CLOCK.get(0), CLOCK.get(1), CLOCK.get(2));
	}

	static void answer(HttpExchange exchange, String text) throws IOException {
		byte[] page = text.getBytes();
		exchange.sendResponseHeaders(200, page.length);
		exchange.getResponseBody().write(page);
		exchange.close();
	}

	public static void main(String[] args) throws Exception {
		HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 64);
		boolean isTimed = args.length > 1 && args[1].equals("timed");
		server.createContext("/", exchange ->
			answer(exchange, isTimed ? timed() : renderPage(priceRows(parseOrder(ORDER)))));
		if (isTimed)
			server.createContext("/clock", exchange -> answer(exchange, clock()));
		server.setExecutor(Executors.newFixedThreadPool(4));
		server.start();
	}
}
