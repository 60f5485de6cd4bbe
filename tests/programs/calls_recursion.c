// SPDX-License-Identifier: Apache-2.0
/*
 * Recursion as deep as the first argument says (100): down() calls itself; even() and odd() call
 * each other; fib() branches.
 */
#include "calls.h"

COUNTED(down);
COUNTED(even);
COUNTED(odd);
COUNTED(fib);

KEPT static unsigned long down(unsigned long depth)
{
	unsigned long below = 0;

	CALLED(down);
	if (depth > 1)
		below = down(depth - 1);
	NO_TAIL_CALL();
	return below + depth;
}

KEPT static int odd(unsigned long n);

KEPT static int even(unsigned long n)
{
	int answer = 1;

	CALLED(even);
	if (n)
		answer = odd(n - 1);
	NO_TAIL_CALL();
	return answer;
}

KEPT static int odd(unsigned long n)
{
	int answer = 0;

	CALLED(odd);
	if (n)
		answer = even(n - 1);
	NO_TAIL_CALL();
	return answer;
}

KEPT static unsigned long fib(unsigned long n)
{
	CALLED(fib);
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	unsigned long depth = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;

	calls_add(down(depth));
	calls_add((unsigned long)even(depth));
	calls_add(fib(12));
	TELL(down);
	TELL(even);
	TELL(odd);
	TELL(fib);
	return calls_end();
}
