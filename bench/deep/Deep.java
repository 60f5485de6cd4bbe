// SPDX-License-Identifier: Apache-2.0
/** Deep DEPTH SECONDS: works below so many functions, by pieces; in the end prints when each began and how long it took, in ns. */
public class Deep {
	static int work(int turns) {
		int total = 0;
		for (int i = 0; i < turns; i++)
			total = (total + i * 7) % 1000003;
		return total;
	}

	static int descend(int level, int turns) {
		if (level > 0)
			return descend(level - 1, turns) + 1;
		return work(turns);
	}

	public static void main(String[] args) {
		int depth = Integer.parseInt(args[0]), sum = 0;
		/* until it is compiled */
		for (int i = 0; i < 30000; i++)
			sum += descend(depth - 2, 10);
		StringBuilder pieces = new StringBuilder();
		long now = System.nanoTime(), end = now + (long) (Double.parseDouble(args[1]) * 1e9);
		while (now < end) {
			sum += descend(depth - 2, 200000);
			long then = now;
			now = System.nanoTime();
			pieces.append(then).append(' ').append(now - then).append('\n');
		}
		System.out.print(pieces);
		if (sum == 42)
			System.out.println();
	}
}
