// SPDX-License-Identifier: Apache-2.0
/*
 * main calls c1, c1 calls c2, … c30 spins. With TRASH_RBP each of them puts nonsense into rbp
 * before the next call, as code without frame pointers may, so only unwind tables lead back.
 */
#include "program.h"

#ifdef TRASH_RBP
#define SCRAMBLE() __asm__ volatile("mov $0x5eed, %%ebp" ::: "rbp")
#else
#define SCRAMBLE() NO_TAIL_CALL()
#endif

KEPT static void c30(void)
{
	while (!program_over()) {
		SCRAMBLE();
		spin(MILLISECOND);
	}
}

#define LINK(this, next)            \
	KEPT static void this(void) \
	{                           \
		SCRAMBLE();         \
		next();             \
		NO_TAIL_CALL();     \
	}

LINK(c29, c30)
LINK(c28, c29)
LINK(c27, c28)
LINK(c26, c27)
LINK(c25, c26)
LINK(c24, c25)
LINK(c23, c24)
LINK(c22, c23)
LINK(c21, c22)
LINK(c20, c21)
LINK(c19, c20)
LINK(c18, c19)
LINK(c17, c18)
LINK(c16, c17)
LINK(c15, c16)
LINK(c14, c15)
LINK(c13, c14)
LINK(c12, c13)
LINK(c11, c12)
LINK(c10, c11)
LINK(c9, c10)
LINK(c8, c9)
LINK(c7, c8)
LINK(c6, c7)
LINK(c5, c6)
LINK(c4, c5)
LINK(c3, c4)
LINK(c2, c3)
LINK(c1, c2)

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	c1();
	return 0;
}
