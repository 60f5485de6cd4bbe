// SPDX-License-Identifier: Apache-2.0
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/** What is stored of HotSpot: interpreted and compiled functions, recursion, a lambda, a virtual call. */
public class Work {
	interface Step {
		int of(int i);
	}

	static class Mod implements Step {
		public int of(int i) {
			return i % 7;
		}
	}

	static int busy(int count, Step step) {
		int total = 0;
		for (int i = 0; i < count; i++)
			total += step.of(i);
		return total;
	}

	static int descend(int level, int count) {
		if (level > 0)
			return descend(level - 1, count) + 1;
		Integer[] rows = {3, 1, 2};
		Arrays.sort(rows, (a, b) -> busy(count, new Mod()) < 0 ? 0 : a - b);
		return rows[0];
	}

	int turn(int count) {
		IntUnaryOperator each = i -> descend(4, count + i);
		return each.applyAsInt(1) + each.applyAsInt(2);
	}

	public static void main(String[] args) {
		Work work = new Work();
		for (;;)
			work.turn(20000);
	}
}
