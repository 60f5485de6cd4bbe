// SPDX-License-Identifier: Apache-2.0
/* plt_loop calls tiny_next of libtiny.so all the time, through the procedure linkage table. */
#include "program.h"

int tiny_next(int value);

KEPT static int plt_loop(void)
{
	int value = 0;

	while (!program_over())
		for (int i = 0; i < 1000000; i++)
			value = tiny_next(value);
	return value;
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	return plt_loop() == 12345;
}
