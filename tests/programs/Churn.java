// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/*
 * A Java program that makes a JVM do all it can, so that every kind of its frames is on the stacks: `java Churn
 * SECONDS [KIND]` (0: until it is ended).
 */
public class Churn {
	static volatile Object sink;
	static volatile boolean over;

	interface Shape {
		double area();
	}

	static class Square implements Shape {
		double side = 2;

		@Override public double area()
		{
			return side * side;
		}
	}

	static class Circle implements Shape {
		double radius = 3;

		@Override public double area()
		{
			return radius * radius * Math.PI;
		}
	}

	static class Triangle implements Shape {
		double base = 4;

		@Override public double area()
		{
			return base * Math.sin(base) / 2;
		}
	}

	/* Garbage: lists, maps, strings. */
	static void collect(int round)
	{
		Map<String, List<Integer>> map = new HashMap<>();

		for (int i = 0; i < 2000; i++)
			map.computeIfAbsent("key " + i % 97, k -> new ArrayList<>()).add(i + round);
		sink = map;
	}

	static int thrower(int depth)
	{
		if (depth == 0)
			throw new IllegalStateException("on purpose");
		return thrower(depth - 1) + 1;
	}

	/* Exceptions that fly through many frames. */
	static void exceptions()
	{
		for (int i = 0; i < 100; i++) {
			try {
				sink = thrower(30);
			} catch (IllegalStateException e) {
				sink = e;
			}
		}
	}

	/* Calls through interfaces with one, two and three receivers: what was compiled for fewer is deoptimized. */
	static double shapes(int round)
	{
		Shape[] all = {new Square(), round % 500 > 100 ? new Circle() : new Square(),
			       round % 500 > 300 ? new Triangle() : new Square()};
		double sum = 0;

		for (int i = 0; i < 5000; i++)
			sum += all[i % 3].area();
		return sum;
	}

	/* Native code that calls Java back, reflection, sorting with a lambda. */
	static void callbacks() throws Exception
	{
		Method method = Churn.class.getDeclaredMethod("shapes", int.class);
		Integer[] numbers = new Integer[500];

		sink = method.invoke(null, 7);
		for (int i = 0; i < numbers.length; i++)
			numbers[i] = i * 7919 % 503;
		Arrays.sort(numbers, (a, b) -> b - a);
		sink = java.security.AccessController.doPrivileged(
			(java.security.PrivilegedAction<Object>)() -> Arrays.hashCode(numbers));
		Thread.yield();
		sink = new Object().hashCode() + System.nanoTime();
	}

	/* Code of the JVM's own: copies, checksums, digests, compression. */
	static void natives() throws Exception
	{
		byte[] bytes = new byte[20000], more = new byte[20000];
		Deflater deflater = new Deflater();
		CRC32 crc = new CRC32();

		Arrays.fill(bytes, (byte)7);
		System.arraycopy(bytes, 1, more, 0, bytes.length - 1);
		crc.update(more);
		sink = MessageDigest.getInstance("SHA-256").digest(more);
		deflater.setInput(more);
		deflater.finish();
		sink = deflater.deflate(bytes);
		deflater.end();
		sink = Pattern.compile("(a|b)*c+").matcher("abababababcccc").matches();
	}

	static class Loader extends ClassLoader {
		final byte[] code;

		Loader(byte[] code)
		{
			super(null);
			this.code = code;
		}

		@Override protected Class<?> findClass(String name) throws ClassNotFoundException
		{
			if (!name.equals("Churn$Passing"))
				return Churn.class.getClassLoader().loadClass(name);
			return defineClass(name, code, 0, code.length);
		}
	}

	public static class Passing implements Function<Integer, Integer> {
		@Override public Integer apply(Integer n)
		{
			int x = n;

			for (int i = 0; i < 20000; i++)
				x = x * 31 + i;
			return x;
		}
	}

	/* A class that is loaded, used and forgotten. */
	@SuppressWarnings("unchecked") static void classes(byte[] code) throws Exception
	{
		Class<?> passing = new Loader(code).loadClass("Churn$Passing");
		Function<Integer, Integer> function =
			(Function<Integer, Integer>)passing.getDeclaredConstructor().newInstance();

		for (int i = 0; i < 20; i++)
			sink = function.apply(i);
	}

	static byte[] codeOfPassing() throws Exception
	{
		ByteArrayOutputStream out = new ByteArrayOutputStream();
		InputStream in = Churn.class.getResourceAsStream("/Churn$Passing.class");

		for (int byteRead; (byteRead = in.read()) >= 0;)
			out.write(byteRead);
		return out.toByteArray();
	}

	static void everything() throws Exception
	{
		byte[] code = codeOfPassing();

		for (int round = 0; !over; round++) {
			collect(round);
			exceptions();
			sink = shapes(round);
			callbacks();
			natives();
			classes(code);
			synchronized (Churn.class) {
				sink = String.format("%d %s %.3f", round, "round", shapes(round));
			}
		}
	}

	public static void main(String[] arguments) throws Exception
	{
		int seconds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 0;

		/* loads the libraries that it needs: what is mapped later is known a little later */
		natives();
		for (int i = 0; i < 3; i++) {
			Thread thread = new Thread(() -> {
				try {
					everything();
				} catch (Exception e) {
					e.printStackTrace();
					System.exit(1);
				}
			}, "churn-" + i);

			thread.setDaemon(true);
			thread.start();
		}
		System.out.println("ready");
		Thread.sleep(seconds > 0 ? seconds * 1000L : Long.MAX_VALUE);
		over = true;
	}
}
