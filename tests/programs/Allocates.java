// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;

/*
 * A Java program whose allocations are known: `java Allocates MEGABYTES`. It allocates that much, about, in each of its
 * functions, and prints what the JVM has counted for that function's thread. It begins with a byte of its input, and ends
 * with another one; until then it allocates a little.
 */
public class Allocates {
	static volatile Object sink;

	static class Node {
		long a, b, c, d;
		Object next;
	}

	static void nodes(long bytes)
	{
		for (long i = 0; i < bytes / 56; i++)
			sink = new Node();
	}

	static void arrays(long bytes)
	{
		for (long i = 0; i < bytes / 1016; i++)
			sink = new byte[1000];
	}

	static void large(long bytes)
	{
		for (long i = 0; i < bytes / (4 << 20); i++)
			sink = new long[(4 << 20) / 8 - 2];
	}

	static void strings(long bytes)
	{
		for (long i = 0; i < bytes / 56; i++)
			sink = new String(new char[] {(char)('a' + i % 20)});
	}

	static void tables(long bytes)
	{
		for (long i = 0; i < bytes / 8216; i++)
			sink = new String[2048][];
	}

	interface Work {
		void run(long bytes);
	}

	static void measure(String name, Work work, long bytes) throws Exception
	{
		var threads = (com.sun.management.ThreadMXBean)ManagementFactory.getThreadMXBean();
		long[] got = new long[1];
		Thread thread = new Thread(() -> {
			long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
			work.run(bytes);
			got[0] = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
		}, name);
		thread.start();
		thread.join();
		System.out.println(name + " " + got[0] + " 0");
	}

	/* A little, until there is a byte of input, or its end. */
	static void idle() throws Exception
	{
		Thread reader = new Thread(() -> {
			try {
				System.in.read();
			} catch (java.io.IOException e) {
				return;
			}
		});
		reader.start();
		while (reader.isAlive()) {
			for (int i = 0; i < 20; i++)
				sink = new char[50000];
			reader.join(10);
		}
	}

	public static void main(String[] args) throws Exception
	{
		long bytes = Long.parseLong(args[0]) << 20;

		System.out.println("ready");
		idle();
		measure("nodes", Allocates::nodes, bytes);
		measure("arrays", Allocates::arrays, bytes);
		measure("large", Allocates::large, bytes);
		measure("strings", Allocates::strings, bytes);
		measure("tables", Allocates::tables, bytes);
		System.out.println("done");
		idle();
	}
}
