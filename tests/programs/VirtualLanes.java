// SPDX-License-Identifier: Apache-2.0
// Virtual threads that sleep, park, wait for monitors, burn CPU and live for a moment, and say what
// they measured: "KIND NUMBER NS". Argument: how long each one does that, ms.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

class VirtualLanes {
	static final Object monitor = new Object();
	static volatile long sink;
	static volatile Thread enters;

	interface Work {
		void run() throws Exception;
	}

	static synchronized void tell(String kind, long ns) {
		System.out.println(kind + " " + Thread.currentThread().threadId() + " " + ns);
	}

	static Thread start(String kind, Work work) {
		return Thread.ofVirtual().name(kind).start(() -> {
			long begin = System.nanoTime();
			try {
				work.run();
			} catch (Exception e) {
				throw new RuntimeException(e);
			}
			tell(kind, System.nanoTime() - begin);
		});
	}

	/* Sleeps once that thread is there, and in that state. */
	static void sleepOnceIn(Thread.State state, Supplier<Thread> thread, long ms) throws InterruptedException {
		while (thread.get() == null || thread.get().getState() != state)
			Thread.sleep(1);
		Thread.sleep(ms);
	}

	static void burn(long ns) {
		long end = System.nanoTime() + ns;
		while (System.nanoTime() < end)
			sink++;
	}

	public static void main(String[] args) throws Exception {
		long ms = Long.parseLong(args[0]), ns = ms * 1_000_000;
		List<Thread> all = new ArrayList<>();
		CountDownLatch held = new CountDownLatch(1);
		AtomicLong brief = new AtomicLong();

		// the first one has code made that runs them: a camera sets its probes there meanwhile
		Thread.ofVirtual().start(() -> LockSupport.parkNanos(500_000_000)).join();
		for (int i = 0; i < 50; i++)
			all.add(start("sleeps", () -> Thread.sleep(ms)));
		for (int i = 0; i < 20; i++) {
			Thread parked = start("parks", () -> LockSupport.park());
			all.add(parked);
			all.add(start("unparks", () -> {
				sleepOnceIn(Thread.State.WAITING, () -> parked, ms);
				LockSupport.unpark(parked);
			}));
		}
		for (int i = 0; i < 4; i++)
			all.add(start("burns", () -> burn(ns / 4)));
		Thread holder = start("holds", () -> {
			synchronized (monitor) {
				held.countDown();
				sleepOnceIn(Thread.State.BLOCKED, () -> enters, ms);
			}
		});
		all.add(holder);
		held.await();
		enters = start("enters", () -> {
			synchronized (monitor) {
				sink++;
			}
		});
		all.add(enters);
		Thread waiter = start("waits", () -> {
			synchronized (monitor) {
				monitor.wait(ms);
			}
		});
		all.add(waiter);
		for (int i = 0; i < 100; i++)
			all.add(Thread.ofVirtual().name("brief").start(() -> brief.incrementAndGet()));
		for (int i = 0; i < 10; i++)
			all.add(start("yields", () -> {
				for (int n = 0; n < 10; n++)
					Thread.yield();
			}));
		// moves what is alive
		System.gc();
		for (Thread one : all)
			one.join();
		System.out.println("many 0 " + brief.get());
	}
}
