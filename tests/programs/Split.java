// SPDX-License-Identifier: Apache-2.0
/*
 * A Java program whose truth is known: `java Split KIND` runs until it is ended.
 *
 *	split: 70, 20 and 10 percent of the time in seventy(), twenty() and ten(), by count of work
 *	deep: recursion 500 deep, then work
 *	threads: four threads, each with work() below its own function
 *	ten: ten functions with 1/55, 2/55, .. of the time
 */
import java.util.Random;

public class Split {
	static volatile long sink;
	/* Of work; another one each round, so that rounds don't fall in step with the sampling. */
	static int unit;

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

	static void seventy()
	{
		sink += work(7 * unit);
	}

	static void twenty()
	{
		sink += work(2 * unit);
	}

	static void ten()
	{
		sink += work(unit);
	}

	static void deep(int n)
	{
		if (n > 0) {
			deep(n - 1);
			sink++;
		} else {
			sink += work(1000000);
		}
	}

	static void f1()
	{
		sink += work(unit);
	}

	static void f2()
	{
		sink += work(2 * unit);
	}

	static void f3()
	{
		sink += work(3 * unit);
	}

	static void f4()
	{
		sink += work(4 * unit);
	}

	static void f5()
	{
		sink += work(5 * unit);
	}

	static void f6()
	{
		sink += work(6 * unit);
	}

	static void f7()
	{
		sink += work(7 * unit);
	}

	static void f8()
	{
		sink += work(8 * unit);
	}

	static void f9()
	{
		sink += work(9 * unit);
	}

	static void f10()
	{
		sink += work(10 * unit);
	}

	static void ofTen()
	{
		f1();
		f2();
		f3();
		f4();
		f5();
		f6();
		f7();
		f8();
		f9();
		f10();
	}

	static class Worker implements Runnable {
		@Override public void run()
		{
			for (;;)
				sink += work(500000);
		}
	}

	public static void main(String[] arguments) throws Exception
	{
		String kind = arguments.length > 0 ? arguments[0] : "split";

		if (kind.equals("threads"))
			for (int i = 0; i < 4; i++)
				new Thread(new Worker(), "worker-" + i).start();
		Random random = new Random(1);
		System.out.println("ready");
		for (;;) {
			unit = 10000 + random.nextInt(20000);
			switch (kind) {
			case "split":
				seventy();
				twenty();
				ten();
				break;
			case "ten":
				ofTen();
				break;
			case "deep":
				deep(500);
				break;
			default:
				Thread.sleep(1000);
			}
		}
	}
}
