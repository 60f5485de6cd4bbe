// SPDX-License-Identifier: Apache-2.0
/*
 * Reads all pages of a file that is larger than the control group's memory, again and again:
 * "touches FILE".
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long sum;

static __attribute__((noipa)) void touch_all(const volatile char *at, size_t size)
{
	for (size_t i = 0; i < size; i += 4096)
		sum += at[i];
}

int main(int argc, char **argv)
{
	size_t size = 96ul << 20;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *at;

	if (argc != 2 || ftruncate(fd, size))
		return 1;
	at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || madvise(at, size, MADV_RANDOM))
		return 1;
	for (int i = 0; i < 4; i++)
		touch_all(at, size);
	return sum == 1;
}
