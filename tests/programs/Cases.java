// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/** Slow for a reason that is known, as cases.c: "Cases SECONDS monitor|gc". The thread "handler" is the slow one. */
public class Cases {
	static final Object orders = new Object();
	static final List<byte[][]> kept = new ArrayList<>();

	static void sleep(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	static void writeReport() {
		synchronized (orders) {
			sleep(80);
		}
	}

	static long takeOrder() {
		synchronized (orders) {
			return System.nanoTime();
		}
	}

	/** Makes objects that a collector must follow, and much that is garbage. */
	static void buildCart() {
		byte[][] cart = new byte[2000][];
		for (int i = 0; i < cart.length; i++)
			cart[i] = new byte[100];
		kept.add(cart);
		if (kept.size() > 400)
			kept.remove(0);
	}

	interface Work {
		void once();
	}

	static void start(String name, Work work) {
		Thread thread = new Thread(() -> {
			while (true)
				work.once();
		}, name);
		thread.setDaemon(true);
		thread.start();
	}

	public static void main(String[] arguments) {
		if (arguments[1].equals("monitor")) {
			start("reporter", () -> {
				writeReport();
				sleep(20);
			});
			start("handler", () -> {
				takeOrder();
				sleep(1);
			});
		} else {
			start("handler", Cases::buildCart);
		}
		System.out.println("ready");
		System.out.flush();
		sleep((long) (Double.parseDouble(arguments[0]) * 1000));
	}
}
