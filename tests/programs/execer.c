// SPDX-License-Identifier: Apache-2.0
/* Starts short_lived, which lies beside it, again and again; it does next to nothing itself. */
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"

int main(int argc, char **argv)
{
	char self[PATH_MAX / 2] = "", path[PATH_MAX];
	char name[] = "short_lived";
	char *arguments[] = {name, NULL};

	program_begin(argc, argv);
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/short_lived", dirname(self));
	program_ready();
	while (!program_over()) {
		pid_t child;

		if (posix_spawn(&child, path, NULL, NULL, arguments, environ)) {
			perror(path);
			return 1;
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
