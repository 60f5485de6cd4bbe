// SPDX-License-Identifier: Apache-2.0
import java.util.HashMap;
import java.util.Map;

/** Churns SECONDS: threads allocate, and compare what they have kept. Prints how many rounds there were. */
public class Churns {
	private static final int THREADS = 3;
	private static long rounds;

	static long round(int number) {
		Map<Integer, String> kept = new HashMap<>();

		for (int i = 0; i < 200; i++)
			kept.put(i, number + "/" + i);
		for (int i = 0; i < 200; i++)
			if (!kept.get(i).equals(number + "/" + i))
				throw new IllegalStateException("not what was kept");
		return kept.size();
	}

	static synchronized void add(long count) {
		rounds += count;
	}

	public static void main(String[] arguments) throws Exception {
		long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000_000L;
		Thread[] threads = new Thread[THREADS];

		for (int i = 0; i < THREADS; i++) {
			threads[i] = new Thread(() -> {
				long count = 0;

				while (System.nanoTime() < end)
					count += round((int) count) / 200;
				add(count);
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println("churned " + rounds);
	}
}
