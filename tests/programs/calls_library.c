// SPDX-License-Identifier: Apache-2.0
/* A library: calls of lib_twice() call lib_once() in it, which is not exported. */
#include "calls.h"

unsigned long lib_twice(unsigned long value);
unsigned long lib_other(unsigned long value);
void lib_tell(void);

COUNTED(lib_once);
COUNTED(lib_twice);
COUNTED(lib_other);

KEPT static unsigned long lib_once(unsigned long value)
{
	CALLED(lib_once);
	return value * 31 + 1;
}

KEPT unsigned long lib_twice(unsigned long value)
{
	CALLED(lib_twice);
	value = lib_once(value);
	value = lib_once(value);
	NO_TAIL_CALL();
	return value;
}

KEPT unsigned long lib_other(unsigned long value)
{
	CALLED(lib_other);
	return value ^ 0x5555;
}

void lib_tell(void)
{
	TELL(lib_once);
	TELL(lib_twice);
	TELL(lib_other);
}
