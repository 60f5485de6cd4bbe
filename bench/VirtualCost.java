// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that do nothing else: waits and lives of them. It prints the process's CPU ns for each. */
public class VirtualCost {
	static long cpu() {
		return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
				.getProcessCpuTime();
	}

	/** One thread parks, the other one unparks it, by turns. */
	static void waits(int count) throws Exception {
		Thread parked = Thread.ofVirtual().start(() -> {
			for (int i = 0; i < count; i++)
				LockSupport.park();
		});
		Thread other = Thread.ofVirtual().start(() -> {
			while (parked.isAlive()) {
				LockSupport.unpark(parked);
				Thread.yield();
			}
		});
		parked.join();
		other.join();
	}

	static void lives(int count) throws Exception {
		for (int i = 0; i < count; i++)
			Thread.ofVirtual().start(() -> { }).join();
	}

	interface Work {
		void run(int count) throws Exception;
	}

	static void measure(Work work, int count) throws Exception {
		long begin = cpu();
		work.run(count);
		System.out.println((double) (cpu() - begin) / count);
	}

	public static void main(String[] arguments) throws Exception {
		int count = Integer.parseInt(arguments[0]);
		waits(count);
		lives(count);
		measure(VirtualCost::waits, count);
		measure(VirtualCost::lives, count);
	}
}
