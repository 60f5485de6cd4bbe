// SPDX-License-Identifier: Apache-2.0
/* Spins about 30 ms in short_main and is gone: execer.c starts it. */
#include "program.h"

KEPT static void short_main(void)
{
	spin(30 * MILLISECOND);
}

int main(void)
{
	short_main();
	return 0;
}
