// SPDX-License-Identifier: Apache-2.0
/*
 * Calls into a library: 7 of lib_twice(), 9 of lib_other(). Through the PLT, or with -fno-plt
 * through the GOT alone.
 */
#include "calls.h"

unsigned long lib_twice(unsigned long value);
unsigned long lib_other(unsigned long value);
void lib_tell(void);

COUNTED(caller);

KEPT static void caller(void)
{
	CALLED(caller);
	for (unsigned long i = 0; i < 7; i++)
		calls_add(lib_twice(i));
	for (unsigned long i = 0; i < 9; i++)
		calls_add(lib_other(i));
}

int main(void)
{
	caller();
	TELL(caller);
	lib_tell();
	return calls_end();
}
