// SPDX-License-Identifier: Apache-2.0
/** Blind LIBRARY SECONDS: functions that end in code without unwind information. */
public final class Blind {
	private static native long spin(long turns);

	private static long inner(long turns)
	{
		return spin(turns);
	}

	private static long outer(long turns)
	{
		return inner(turns);
	}

	public static void main(String[] args)
	{
		long until = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;

		System.load(args[0]);
		System.out.println("ready");
		while (System.nanoTime() < until)
			outer(3_000_000);
	}
}
