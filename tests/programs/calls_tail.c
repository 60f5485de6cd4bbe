// SPDX-License-Identifier: Apache-2.0
/*
 * Tail calls, which become jumps (-O2): first() jumps to second(), that to third(), which returns
 * to first's caller. ping() and pong() jump to each other 1,000 times on one and the same return
 * address. through() jumps to what a pointer says.
 */
#include "calls.h"

COUNTED(first);
COUNTED(second);
COUNTED(third);
COUNTED(ping);
COUNTED(pong);
COUNTED(through);

typedef unsigned long step(unsigned long);

KEPT static unsigned long third(unsigned long n)
{
	CALLED(third);
	return n * 3;
}

KEPT static unsigned long second(unsigned long n)
{
	CALLED(second);
	return third(n + 2);
}

KEPT static unsigned long first(unsigned long n)
{
	CALLED(first);
	return second(n + 1);
}

KEPT static unsigned long pong(unsigned long n);

KEPT static unsigned long ping(unsigned long n)
{
	CALLED(ping);
	return n ? pong(n - 1) : 1;
}

KEPT static unsigned long pong(unsigned long n)
{
	CALLED(pong);
	return n ? ping(n - 1) : 2;
}

KEPT static unsigned long through(step *to, unsigned long n)
{
	CALLED(through);
	return to(n);
}

int main(void)
{
	for (unsigned long i = 0; i < 10; i++)
		calls_add(first(i));
	for (unsigned long i = 0; i < 3; i++)
		calls_add(ping(999));
	for (unsigned long i = 0; i < 10; i++)
		calls_add(through(i & 1 ? third : first, i));
	TELL(first);
	TELL(second);
	TELL(third);
	TELL(ping);
	TELL(pong);
	TELL(through);
	return calls_end();
}
