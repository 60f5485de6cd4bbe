// SPDX-License-Identifier: Apache-2.0
/*
 * As many sleeping children as the second argument says (5,000); the parent spins in busy_parent
 * and takes them with it when it ends, however it ends.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

KEPT static void busy_parent(void)
{
	while (!program_over())
		spin(MILLISECOND);
}

int main(int argc, char **argv)
{
	int wanted = argc > 2 ? atoi(argv[2]) : 5000;
	pid_t parent = getpid();

	program_begin(argc, argv);
	signal(SIGTERM, SIG_IGN);
	if (setpgid(0, 0)) {
		perror("setpgid");
		return 1;
	}
	for (int i = 0; i < wanted; i++) {
		pid_t child = fork();

		if (child < 0) {
			fprintf(stderr, "only %d processes\n", i);
			kill(0, SIGKILL);
		}
		if (!child) {
			signal(SIGTERM, SIG_DFL);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(0);
			for (;;)
				pause();
		}
	}
	program_begin(argc, argv);
	program_ready();
	busy_parent();
	kill(0, SIGTERM);
	while (wait(NULL) > 0)
		;
	return 0;
}
