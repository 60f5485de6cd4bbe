// SPDX-License-Identifier: Apache-2.0
/* read_zero reads /dev/zero: nearly all samples are in the kernel, below main and read_zero. */
#include <fcntl.h>
#include <unistd.h>

#include "program.h"

static char buffer[1 << 20];

KEPT static int read_zero(int fd)
{
	while (!program_over())
		for (int i = 0; i < 16; i++)
			if (read(fd, buffer, sizeof(buffer)) < 0)
				return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	int result;

	program_begin(argc, argv);
	if (fd < 0)
		return 1;
	program_ready();
	result = read_zero(fd);
	NO_TAIL_CALL();
	return result;
}
