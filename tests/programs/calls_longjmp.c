// SPDX-License-Identifier: Apache-2.0
/*
 * longjmp() over several frames: catcher() sets a place, and dig() calls itself up to 5 deep and
 * jumps back from there, so that none of its calls returns. after() is called by catcher() then: it
 * is a child of catcher, not of dig. A loop by setjmp() alone: looper() is left once and come back
 * to ten times.
 */
#include <setjmp.h>

#include "calls.h"

COUNTED(catcher);
COUNTED(dig);
COUNTED(after);
COUNTED(looper);
COUNTED(hop);

static jmp_buf place;
static volatile int jump = 1;

KEPT static void dig(int depth)
{
	CALLED(dig);
	if (depth)
		dig(depth - 1);
	else if (jump)
		longjmp(place, 7);
	NO_TAIL_CALL();
}

KEPT static void after(int value)
{
	CALLED(after);
	calls_add((unsigned long)value);
}

KEPT static void catcher(int depth)
{
	int value;

	CALLED(catcher);
	value = setjmp(place);
	if (!value)
		dig(depth);
	after(value);
	NO_TAIL_CALL();
}

KEPT static void hop(void)
{
	CALLED(hop);
	longjmp(place, 1);
}

KEPT static void looper(void)
{
	volatile int times = 0;

	CALLED(looper);
	setjmp(place);
	if (times++ < 10)
		hop();
	calls_add((unsigned long)times);
}

int main(void)
{
	for (int round = 0; round < 20; round++)
		catcher(round % 5);
	looper();
	TELL(catcher);
	TELL(dig);
	TELL(after);
	TELL(looper);
	TELL(hop);
	return calls_end();
}
