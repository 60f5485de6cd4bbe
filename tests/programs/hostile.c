// SPDX-License-Identifier: Apache-2.0
/*
 * Its process name and the names of its functions are written to do harm where they are shown:
 * control characters, HTML, separators of file formats. hostile.sh gives the functions their names.
 */
#include <sys/prctl.h>

#include "program.h"

KEPT static void hostile_terminal(void)
{
	spin(5 * MILLISECOND);
}

KEPT static void hostile_html(void)
{
	spin(5 * MILLISECOND);
}

KEPT static void hostile_folded(void)
{
	spin(5 * MILLISECOND);
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	prctl(PR_SET_NAME, "\033[31m<b>&\";\n\x80");
	program_ready();
	while (!program_over()) {
		hostile_terminal();
		hostile_html();
		hostile_folded();
	}
	return 0;
}
