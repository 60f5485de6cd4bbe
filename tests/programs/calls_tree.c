// SPDX-License-Identifier: Apache-2.0
/* A tree of calls: main calls a 3 times, each a calls b 4 times, each b calls c 5 times. */
#include "calls.h"

COUNTED(a);
COUNTED(b);
COUNTED(c);

KEPT static void c(unsigned long value)
{
	CALLED(c);
	calls_add(value);
}

KEPT static void b(unsigned long value)
{
	CALLED(b);
	for (unsigned long i = 0; i < 5; i++)
		c(value * 5 + i);
	NO_TAIL_CALL();
}

KEPT static void a(unsigned long value)
{
	CALLED(a);
	for (unsigned long i = 0; i < 4; i++)
		b(value * 4 + i);
	NO_TAIL_CALL();
}

int main(void)
{
	for (unsigned long i = 0; i < 3; i++)
		a(i);
	TELL(a);
	TELL(b);
	TELL(c);
	return calls_end();
}
