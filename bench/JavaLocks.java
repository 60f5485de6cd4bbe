// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that wait for one lock, a monitor or a ReentrantLock, for some seconds; prints how often it was held. */
public class JavaLocks {
	static final int THREADS = 4;
	static final long HELD_NS = 100_000;

	static void hold() {
		long end = System.nanoTime() + HELD_NS;

		while (System.nanoTime() < end)
			Thread.onSpinWait();
	}

	public static void main(String[] args) throws Exception {
		boolean isMonitor = args[0].equals("monitor");
		long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
		ReentrantLock lock = new ReentrantLock(true);
		Object monitor = new Object();
		AtomicLong count = new AtomicLong();
		Thread[] threads = new Thread[THREADS];

		for (int i = 0; i < THREADS; i++) {
			threads[i] = new Thread(() -> {
				while (System.nanoTime() < end) {
					if (isMonitor) {
						synchronized (monitor) {
							hold();
						}
					} else {
						lock.lock();
						hold();
						lock.unlock();
					}
					count.incrementAndGet();
				}
			});
			threads[i].start();
		}
		for (Thread thread : threads)
			thread.join();
		System.out.println(count.get());
	}
}
