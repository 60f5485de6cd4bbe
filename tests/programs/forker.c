// SPDX-License-Identifier: Apache-2.0
/*
 * Forks children that don't exec, one after the other; each spins 20 ms in child_work. Then the
 * parent spins 5 ms in parent_work.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

KEPT static void child_work(void)
{
	spin(20 * MILLISECOND);
}

KEPT static void parent_work(void)
{
	spin(5 * MILLISECOND);
}

KEPT static void fork_loop(void)
{
	while (!program_over()) {
		pid_t child = fork();

		if (child < 0)
			exit(1);
		if (!child) {
			child_work();
			_exit(0);
		}
		waitpid(child, NULL, 0);
		parent_work();
	}
}

int main(int argc, char **argv)
{
	program_begin(argc, argv);
	program_ready();
	fork_loop();
	return 0;
}
