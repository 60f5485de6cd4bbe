// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Threads that wait for locks of which it is known who holds them: as locks.c, for Java. Says "ready",
 * and begins with the first byte of its input; prints KIND WAITER HOLDER for each, HOLDER 0: it is no
 * lock; says "done", and ends with the next byte.
 */
public class Locks {
	static final long HELD_MS = 20;

	interface Action {
		void run() throws Exception;
	}

	/** The number of a thread, by its name: the kernel has it in /proc, cut to 15 characters. */
	static long number(String name) throws Exception {
		for (java.io.File task : new java.io.File("/proc/self/task").listFiles()) {
			java.nio.file.Path comm = task.toPath().resolve("comm");
			try {
				if (new String(java.nio.file.Files.readAllBytes(comm)).trim().equals(name))
					return Long.parseLong(task.getName());
			} catch (java.io.IOException ended) {
				continue;
			}
		}
		return 0;
	}

	/** Until a thread waits for what it is to wait for. */
	static void await(Thread thread) throws Exception {
		while (thread.getState() != Thread.State.BLOCKED && thread.getState() != Thread.State.WAITING)
			Thread.yield();
		Thread.sleep(HELD_MS);
	}

	static Thread thread(String name, Action action) {
		Thread thread = new Thread(() -> {
			try {
				action.run();
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}, name);
		thread.start();
		return thread;
	}

	/** Opens at the end: until then all threads live. */
	static final CountDownLatch end = new CountDownLatch(1);

	/** One thread holds, another waits, so many times. */
	static void plant(String kind, boolean isLock, int times, Holding holding) throws Exception {
		Thread[] waiter = new Thread[1];
		CountDownLatch[] held = new CountDownLatch[times], over = new CountDownLatch[times];

		for (int i = 0; i < times; i++) {
			held[i] = new CountDownLatch(1);
			over[i] = new CountDownLatch(1);
		}
		waiter[0] = new Thread(() -> {
			try {
				for (int i = 0; i < times; i++) {
					held[i].await();
					holding.wait_();
					over[i].countDown();
				}
				end.await();
			} catch (Exception e) {
				throw new IllegalStateException(e);
			}
		}, "wait-" + kind);
		thread("hold-" + kind, () -> {
			for (int i = 0; i < times; i++) {
				CountDownLatch now = held[i];

				holding.hold(() -> {
					now.countDown();
					Thread.sleep(HELD_MS);
					await(waiter[0]);
				});
				over[i].await();
			}
			end.await();
		});
		waiter[0].start();
		over[times - 1].await();
		System.out.println(kind + " " + number("wait-" + kind) + " " + (isLock ? number("hold-" + kind) : 0));
	}

	/** What a kind of lock does. */
	interface Holding {
		/** Holds it while the action runs. */
		void hold(Action action) throws Exception;

		void wait_() throws Exception;
	}

	static Object[] kept = new Object[1024];

	/** Collections of garbage follow each other, and what is kept a while moves. */
	static void makeGarbage() {
		Thread thread = new Thread(() -> {
			for (int i = 0;; i++)
				kept[i * 7 % kept.length] = new byte[4096];
		}, "garbage");
		thread.setDaemon(true);
		thread.start();
	}

	static final Object monitor = new Object(), signalled = new Object();
	static boolean isSignalled;

	public static void main(String[] args) throws Exception {
		ReentrantLock lock = new ReentrantLock(), ofCondition = new ReentrantLock();
		ReentrantReadWriteLock rwlock = new ReentrantReadWriteLock();
		Condition condition = ofCondition.newCondition();

		if (args.length > 0 && args[0].equals("garbage"))
			makeGarbage();
		System.out.println("ready");
		System.in.read();
		/* the first waits of a process come before its language is known */
		for (int i = 0; i < 50; i++)
			Thread.sleep(HELD_MS);
		plant("monitor", true, 3, new Holding() {
			public void hold(Action action) throws Exception {
				synchronized (monitor) {
					action.run();
				}
			}

			public void wait_() {
				synchronized (monitor) {
					return;
				}
			}
		});
		plant("reentrant", true, 3, new Holding() {
			public void hold(Action action) throws Exception {
				lock.lock();
				action.run();
				lock.unlock();
			}

			public void wait_() {
				lock.lock();
				lock.unlock();
			}
		});
		plant("rwlock", true, 3, new Holding() {
			public void hold(Action action) throws Exception {
				rwlock.writeLock().lock();
				action.run();
				rwlock.writeLock().unlock();
			}

			public void wait_() {
				rwlock.readLock().lock();
				rwlock.readLock().unlock();
			}
		});
		plant("object", false, 1, new Holding() {
			public void hold(Action action) throws Exception {
				action.run();
				synchronized (signalled) {
					isSignalled = true;
					signalled.notifyAll();
				}
			}

			public void wait_() throws Exception {
				synchronized (signalled) {
					while (!isSignalled)
						signalled.wait();
				}
			}
		});
		plant("condition", false, 1, new Holding() {
			boolean isDone;

			public void hold(Action action) throws Exception {
				action.run();
				ofCondition.lock();
				isDone = true;
				condition.signalAll();
				ofCondition.unlock();
			}

			public void wait_() throws Exception {
				ofCondition.lock();
				while (!isDone)
					condition.await();
				ofCondition.unlock();
			}
		});
		System.out.println("done");
		System.in.read();
		end.countDown();
	}
}
