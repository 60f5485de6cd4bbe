// SPDX-License-Identifier: Apache-2.0
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/*
 * Workers of pools that wait for work, each named after its kind, and one thread, "waits", that waits for a condition as
 * it would within its work. It prints "ready", and ends with its input.
 */
public class Pools {
	static final Object condition = new Object();

	static void wait_for_ever()
	{
		synchronized (condition) {
			try {
				condition.wait();
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	public static void main(String[] args) throws Exception
	{
		Callable<Integer> work = () -> 1;
		ExecutorService fixed = Executors.newFixedThreadPool(1, r -> new Thread(r, "fixed"));
		ExecutorService cached = Executors.newCachedThreadPool(r -> new Thread(r, "cached"));
		ScheduledExecutorService scheduled = Executors.newScheduledThreadPool(1, r -> new Thread(r, "scheduled"));
		ForkJoinPool forkjoin = new ForkJoinPool(1);

		fixed.submit(work).get();
		cached.submit(work).get();
		scheduled.schedule(work, 1000, TimeUnit.SECONDS);
		forkjoin.submit(work).get();
		new Timer("timer").schedule(new TimerTask() {
			public void run() {}
		}, 1000000);
		/* a worker waits within its work */
		fixed = Executors.newFixedThreadPool(1, r -> new Thread(r, "waits"));
		fixed.submit(Pools::wait_for_ever);
		System.out.println("ready");
		System.in.read();
		System.exit(0);
	}
}
