// SPDX-License-Identifier: Apache-2.0
/*
 * Exceptions that one function catches, which is not to be traced: it takes more of the stack than
 * those had that the exception has left, does not write there, and calls on from below.
 */
#include <alloca.h>
#include <stdexcept>

#include "calls.h"

COUNTED(dig);
COUNTED(after);

KEPT static void dig(int depth)
{
	CALLED(dig);
	if (!depth)
		throw std::runtime_error("the ground");
	dig(depth - 1);
	NO_TAIL_CALL();
}

KEPT static void after(void *room)
{
	CALLED(after);
	asm volatile("" : : "r"(room) : "memory");
}

KEPT static void grows(int depth)
{
	void *room = nullptr;

	try {
		dig(depth);
	} catch (const std::exception &) {
		room = alloca(4096);
		after(room);
	}
	after(room);
	NO_TAIL_CALL();
}

int main()
{
	for (int round = 0; round < 20; round++)
		grows(round % 5);
	TELL(dig);
	TELL(after);
	return 0;
}
