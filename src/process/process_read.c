// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/far_file.h"
#include "process/far_files.h"
#include "process/targets.h"

#define PAGE 4096u

/* Documentation/admin-guide/mm/pagemap.rst: bit 63 of a page's word: it is in RAM. */
#define PAGEMAP_PRESENT (1ull << 63)
#define PAGES_MAX	(FAR_BYTES_MAX / PAGE + 1)

static int result_of(ssize_t got, size_t size)
{
	if (got < 0)
		return got == -ESRCH ? -ESRCH : -EFAULT;
	return (size_t)got == size ? 0 : -EFAULT;
}

static int read_now(pid_t pid, void *to, size_t size, uint64_t address)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return result_of(got < 0 ? -errno : got, size);
}

/* Whether all pages are in memory, so that no file system is asked for them. */
static bool is_present(pid_t pid, uint64_t address, size_t size)
{
	uint64_t first = address / PAGE, count = (address + size - 1) / PAGE - first + 1;
	uint64_t words[PAGES_MAX];
	char path[40];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = pread(fd, words, count * sizeof(words[0]), (off_t)(first * sizeof(words[0])));
	close(fd);
	for (size_t i = 0; i < count; i++)
		if (got != (ssize_t)(count * sizeof(words[0])) || !(words[i] & PAGEMAP_PRESENT))
			return false;
	return true;
}

int process_read(void *context, void *to, size_t size, uint64_t address)
{
	const struct process *process = context;
	uint8_t *at = to;
	int err = 0;

	if (!process->far_device || !size || address + size < address)
		return read_now(process->pid, to, size, address);
	while (size && !err) {
		size_t piece = size < FAR_BYTES_MAX ? size : FAR_BYTES_MAX;

		if (is_present(process->pid, address, piece))
			err = read_now(process->pid, at, piece, address);
		else
			err = result_of(far_files_read_memory(process->far, process->pid,
							      process->far_device, address, at,
							      piece),
					piece);
		at += piece;
		address += piece;
		size -= piece;
	}
	return err;
}
