// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.List;

/*
 * A Java program whose memory in use is known: `java Holds MEGABYTES`. Each of its functions allocates that much, about,
 * and keeps three of four objects; the rest is garbage. It begins with a byte of its input; then the collector has run,
 * and it prints how many bytes of objects each function has kept, and "kept". After another byte it lets go of what the first function has kept, and
 * prints "left"; after the next one it ends.
 */
public class Holds {
	static final List<Object> first = new ArrayList<>(), second = new ArrayList<>(), third = new ArrayList<>();
	static volatile Object sink;

	static class Node {
		long a, b, c, d;
		Object next;
	}

	static void keep(List<Object> list, long i, Object object)
	{
		sink = object;
		if (i % 4 != 0)
			list.add(object);
	}

	static void nodes(long bytes)
	{
		for (long i = 0; i < bytes / 48; i++)
			keep(first, i, new Node());
	}

	static void arrays(long bytes)
	{
		for (long i = 0; i < bytes / 1016; i++)
			keep(second, i, new byte[1000]);
	}

	static void tables(long bytes)
	{
		for (long i = 0; i < bytes / 8216; i++)
			keep(third, i, new String[2048][]);
	}

	/* On a thread of its own, so that no stack of main's keeps an object. */
	static void run(Runnable work) throws Exception
	{
		Thread thread = new Thread(work);
		thread.start();
		thread.join();
	}

	public static void main(String[] args) throws Exception
	{
		long bytes = Long.parseLong(args[0]) << 20;

		System.out.println("ready");
		System.in.read();
		run(() -> nodes(bytes));
		run(() -> arrays(bytes));
		run(() -> tables(bytes));
		sink = null;
		System.gc();
		System.out.println("nodes 0 " + first.size() * 48L);
		System.out.println("arrays 0 " + second.size() * 1016L);
		System.out.println("tables 0 " + third.size() * 8208L);
		System.out.println("kept");
		System.in.read();
		first.clear();
		System.gc();
		System.out.println("left");
		System.in.read();
	}
}
