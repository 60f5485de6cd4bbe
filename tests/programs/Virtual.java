// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/*
 * Virtual threads (JDK 21 and later), which work at the bottom of some frames and give up their carrier in between, so
 * that some of their frames are on the stack and others are not: `java Virtual` runs until it is ended.
 */
public class Virtual {
	static volatile long sink;

	static long work(int n)
	{
		long x = 88172645463325252L;

		for (int i = 0; i < n; i++) {
			x ^= x << 13;
			x ^= x >>> 7;
			x ^= x << 17;
		}
		return x;
	}

	static void leaf()
	{
		sink += work(200000);
	}

	static void middle(int n) throws InterruptedException
	{
		if (n > 0) {
			middle(n - 1);
			sink++;
			return;
		}
		leaf();
		Thread.sleep(1);
		leaf();
	}

	static void task()
	{
		try {
			for (;;) {
				middle(20);
				leaf();
			}
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] arguments) throws Exception
	{
		List<Thread> threads = new ArrayList<>();

		for (int i = 0; i < 4; i++)
			threads.add(Thread.ofVirtual().name("virtual-" + i).start(Virtual::task));
		System.out.println("ready");
		for (Thread thread : threads)
			thread.join();
	}
}
