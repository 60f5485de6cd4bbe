// SPDX-License-Identifier: Apache-2.0
/* One thread collects garbage; another one computes in a loop that does not ask whether to stop. */
public class Stops {
	static volatile long sink;
	static final long[] numbers = new long[1 << 14];

	/* a counted loop: the compiler leaves out the question whether to stop */
	static long grind() {
		long sum = 0;
		for (int i = 0; i < 50000000; i++)
			sum += numbers[i & 16383] * i;
		return sum;
	}

	static void handle() {
		try {
			for (;;) {
				Thread.sleep(20);
				System.gc();
			}
		} catch (InterruptedException e) {
		}
	}

	public static void main(String[] unused) throws Exception {
		Thread grinder = new Thread(() -> { for (;;) sink = grind(); }, "grinder");
		Thread handler = new Thread(Stops::handle, "handler");
		grinder.setDaemon(true);
		handler.setDaemon(true);
		grinder.start();
		handler.start();
		Thread.sleep(3000);
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(100000);
	}
}
