// SPDX-License-Identifier: Apache-2.0
/*
 * Copies itself to the path of the second argument, executes the copy, and the copy deletes its own
 * file; then spins in deleted_work.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"

KEPT static void deleted_work(void)
{
	while (!program_over())
		spin(MILLISECOND);
}

static int copy_self(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat stat;
	ssize_t sent = 1;

	if (from < 0 || to < 0 || fstat(from, &stat))
		return -1;
	for (off_t done = 0; done < stat.st_size && sent > 0; done += sent)
		sent = sendfile(to, from, NULL, (size_t)(stat.st_size - done));
	close(from);
	close(to);
	return sent > 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	char copied[] = "copied";

	program_begin(argc, argv);
	if (argc == 3) {
		char *arguments[] = {argv[2], argv[1], argv[2], copied, NULL};

		if (copy_self(argv[2]) || execv(argv[2], arguments)) {
			perror(argv[2]);
			return 1;
		}
	}
	if (argc != 4 || strcmp(argv[3], copied) != 0) {
		fprintf(stderr, "usage: %s SECONDS COPY\n", argv[0]);
		return 2;
	}
	unlink(argv[2]);
	program_ready();
	deleted_work();
	return 0;
}
