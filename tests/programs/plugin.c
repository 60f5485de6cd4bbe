// SPDX-License-Identifier: Apache-2.0
/*
 * A plug-in for dlopen.c, built as a and as b. Both have the same layout, with other names
 * (PLUGIN_SPIN) and other frame sizes (PLUGIN_FRAME): a recorder that mistakes one for the other
 * shows it.
 */
#include "program.h"

int plugin_run(void);

KEPT static int PLUGIN_SPIN(char *frame)
{
	NO_TAIL_CALL();
	spin(10 * MILLISECOND);
	return frame[3];
}

int plugin_run(void)
{
	char frame[PLUGIN_FRAME] = {0};
	int result = PLUGIN_SPIN(frame);

	NO_TAIL_CALL();
	return result;
}
