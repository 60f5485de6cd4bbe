// SPDX-License-Identifier: Apache-2.0
/*
 * Functions that return, and then code at a lower stack pointer which is not traced and calls
 * others: maybe() can end by a conditional jump to other(), so that not all of its ends can be
 * probed; unnamed() stands between those who call inner() and inner() itself.
 *
 * A program of postgres's kind: pq_getmsgend() returned, and the query below it became its own.
 */
#include "calls.h"

COUNTED(other);
COUNTED(inner);
COUNTED(worker);
COUNTED(around);

KEPT unsigned long other(unsigned long n)
{
	CALLED(other);
	return n + 1;
}

/* by hand, since no option makes the compiler write such a jump for certain */
__asm__(".text\n"
	".type maybe, @function\n"
	"maybe:\n"
	"	push %rbx\n"
	"	pop %rbx\n"
	"	incq maybe_count(%rip)\n"
	"	test %rdi, %rdi\n"
	"	jne other\n"
	"	mov $1, %eax\n"
	"	ret\n"
	".size maybe, . - maybe\n");
unsigned long maybe(unsigned long n);
unsigned long maybe_count;

KEPT unsigned long inner(unsigned long n)
{
	CALLED(inner);
	return n * 5;
}

/* its own frame covers the place where maybe() was called from */
KEPT unsigned long unnamed(unsigned long n)
{
	volatile unsigned char room[200];

	room[n & 127] = 1;
	n = inner(n) + room[3];
	NO_TAIL_CALL();
	return n;
}

KEPT unsigned long worker(unsigned long n)
{
	CALLED(worker);
	n += maybe(0);
	NO_TAIL_CALL();
	n += unnamed(n);
	NO_TAIL_CALL();
	n += maybe(1);
	NO_TAIL_CALL();
	n += inner(n);
	NO_TAIL_CALL();
	return n;
}

KEPT unsigned long around(unsigned long n)
{
	CALLED(around);
	n = worker(n);
	NO_TAIL_CALL();
	return n;
}

int main(void)
{
	unsigned long n = 0;

	for (int i = 0; i < 100; i++)
		n += around(n);
	TELL(around);
	TELL(worker);
	printf("calls maybe %lu\n", maybe_count);
	TELL(other);
	TELL(inner);
	calls_add(n);
	return calls_end();
}
