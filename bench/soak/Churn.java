// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/**
 * Churn SECONDS: loads classes, has their functions compiled, gives them what they were not compiled for, and lets go of
 * them. leaf_N is called by mid_N, that by top_N only.
 */
public class Churn {
	public interface Step {
		int of(int i);
	}

	public static class Mod implements Step {
		public int of(int i) {
			return i % 7;
		}
	}

	public static class Bits implements Step {
		public int of(int i) {
			return i & 3;
		}
	}

	/** Loaded again and again, each time with another number in its names. */
	static class Template {
		static int leaf_00000(int count, Step step) {
			int total = 0;
			for (int i = 0; i < count; i++)
				total += step.of(i);
			return total;
		}

		static int mid_00000(int count, Step step) {
			return leaf_00000(count, step) + 1;
		}

		public static int top_00000(int count, Step step) {
			return mid_00000(count, step) + 1;
		}
	}

	static class Loader extends ClassLoader {
		Loader() {
			super(Churn.class.getClassLoader());
		}

		Class<?> define(byte[] bytes) {
			return defineClass(null, bytes, 0, bytes.length);
		}
	}

	static byte[] numbered(byte[] template, int number) {
		// one character is one byte here, and the names keep their length
		String text = new String(template, StandardCharsets.ISO_8859_1);
		return text.replace("_00000", String.format("_%05d", number)).getBytes(StandardCharsets.ISO_8859_1);
	}

	static int sum(int count, Step step) {
		int total = 0;
		for (int i = 0; i < count; i++)
			total += step.of(i);
		return total;
	}

	static void drive(byte[] template, int number, int mod, int bits) throws Exception {
		Class<?> made = new Loader().define(numbered(template, number));
		Method top = made.getDeclaredMethod(String.format("top_%05d", number), int.class, Step.class);
		top.setAccessible(true);
		for (int i = 0; i < 30; i++)
			if ((Integer) top.invoke(null, 3000, new Mod()) != mod + 2)
				throw new IllegalStateException("a wrong result");
		if ((Integer) top.invoke(null, 3000, new Bits()) != bits + 2)
			throw new IllegalStateException("a wrong result");
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
		byte[] template;
		try (InputStream in = Churn.class.getResourceAsStream("Churn$Template.class")) {
			template = in.readAllBytes();
		}
		int mod = sum(3000, new Mod()), bits = sum(3000, new Bits());
		Random random = new Random(1);
		for (int turn = 1; System.nanoTime() < end; turn++) {
			drive(template, 1 + random.nextInt(99999), mod, bits);
			if (turn % 500 == 0)
				System.gc();
		}
	}
}
