// SPDX-License-Identifier: Apache-2.0
#include "process/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Documentation/admin-guide/mm/pagemap.rst: bit 63 of a page's word: it is in RAM. */
#define PAGEMAP_PRESENT	 (1ull << 63)

#define PAGE_OF(address) ((address) & ~(uint64_t)(RESIDENT_PAGE - 1))

struct of_process {
	pid_t pid;
	int pagemap;
};

static int read_process(void *context, void *to, size_t size, uint64_t address)
{
	const struct of_process *process = context;
	struct iovec local = {to, size}, remote = {(void *)address, size};
	ssize_t got = process_vm_readv(process->pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

static int look_at_pagemap(void *context, uint64_t address, size_t count, bool *is)
{
	const struct of_process *process = context;
	uint64_t words[RESIDENT_WINDOW_PAGES];
	ssize_t got;

	if (count > RESIDENT_WINDOW_PAGES)
		return -EINVAL;
	got = pread(process->pagemap, words, count * sizeof(words[0]),
		    (off_t)(address / RESIDENT_PAGE * sizeof(words[0])));
	if (got < 0)
		return -errno;
	for (size_t i = 0; i < count; i++)
		is[i] = i < (size_t)got / sizeof(words[0]) && words[i] & PAGEMAP_PRESENT;
	return 0;
}

int resident_open(struct resident *resident, pid_t pid)
{
	struct of_process *process = malloc(sizeof(*process));
	char path[64];

	*resident = (struct resident){
		.context = process, .read = read_process, .present = look_at_pagemap};
	if (!process)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	*process = (struct of_process){pid, open(path, O_RDONLY | O_CLOEXEC)};
	if (process->pagemap >= 0)
		return 0;
	free(process);
	return -errno;
}

void resident_close(struct resident *resident)
{
	struct of_process *process = resident->context;

	close(process->pagemap);
	free(process);
	free(resident->bytes);
}

void resident_forget(struct resident *resident, uint64_t end)
{
	resident->count = resident->looked = 0;
	resident->end = PAGE_OF(end);
}

void resident_allow(struct resident *resident, uint64_t looks, uint64_t reads)
{
	resident->looks = looks;
	resident->reads = reads;
	resident->is_limited = true;
	resident->is_spent = false;
}

/* False: there are no more. */
static bool spend(struct resident *resident, uint64_t *left, uint64_t pages)
{
	if (!resident->is_limited)
		return true;
	resident->is_spent |= *left < pages;
	*left -= resident->is_spent ? 0 : pages;
	return !resident->is_spent;
}

/* Looks at the pages from that of an address on. */
static bool look(struct resident *resident, uint64_t address)
{
	uint64_t page = PAGE_OF(address), left;

	if (page >= resident->end)
		return false;
	if (page - resident->looked_at < resident->looked * RESIDENT_PAGE &&
	    page >= resident->looked_at)
		return true;
	left = (resident->end - page) / RESIDENT_PAGE;
	left = left < RESIDENT_WINDOW_PAGES ? left : RESIDENT_WINDOW_PAGES;
	resident->looked_at = page;
	resident->looked = 0;
	if (!spend(resident, &resident->looks, left))
		return false;
	resident->looked = (size_t)left;
	if (!resident->present(resident->context, page, resident->looked, resident->is_present))
		return true;
	resident->looked = 0;
	return false;
}

bool resident_has(struct resident *resident, uint64_t address)
{
	return look(resident, address) &&
	       resident->is_present[(PAGE_OF(address) - resident->looked_at) / RESIDENT_PAGE];
}

/* Reads the page of an address, and those behind it that are there. */
static bool fill(struct resident *resident, uint64_t address)
{
	uint64_t page = PAGE_OF(address);
	size_t first, pages = 0;

	if (!resident->bytes)
		resident->bytes = malloc((size_t)RESIDENT_WINDOW_PAGES * RESIDENT_PAGE);
	resident->count = 0;
	if (!resident->bytes || !resident_has(resident, page))
		return false;
	first = (size_t)((page - resident->looked_at) / RESIDENT_PAGE);
	while (first + pages < resident->looked && resident->is_present[first + pages])
		pages++;
	if (!spend(resident, &resident->reads, pages) ||
	    resident->read(resident->context, resident->bytes, pages * RESIDENT_PAGE, page))
		return false;
	resident->at = page;
	resident->count = pages * RESIDENT_PAGE;
	return true;
}

/* What was read at an address, as far as its page goes; null: it is not there. */
static const uint8_t *find(struct resident *resident, uint64_t address)
{
	if ((address < resident->at || address - resident->at >= resident->count) &&
	    !fill(resident, address))
		return NULL;
	return resident->bytes + (address - resident->at);
}

bool resident_word(struct resident *resident, uint64_t address, uint64_t *word)
{
	const uint8_t *at = find(resident, address);

	if (!at || address % sizeof(*word))
		return false;
	memcpy(word, at, sizeof(*word));
	return true;
}

size_t resident_piece(struct resident *resident, void *to, size_t size, uint64_t address)
{
	uint8_t *out = to;
	size_t sum = 0;

	while (size) {
		const uint8_t *at = find(resident, address);
		size_t part = RESIDENT_PAGE - address % RESIDENT_PAGE;

		part = part < size ? part : size;
		if (at)
			memcpy(out, at, part);
		else
			memset(out, 0, part);
		sum += at ? part : 0;
		out += part;
		address += part;
		size -= part;
	}
	return sum;
}

uint64_t resident_bytes(struct resident *resident, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (uint64_t at = from; at < to && !resident->is_spent;) {
		uint64_t next = PAGE_OF(at) + RESIDENT_PAGE;

		next = next < to ? next : to;
		if (resident_has(resident, at))
			sum += next - at;
		at = next;
	}
	return sum;
}

bool resident_read(struct resident *resident, void *to, size_t size, uint64_t address)
{
	bool first = false, last = false;

	return size && size <= RESIDENT_PAGE &&
	       !resident->present(resident->context, PAGE_OF(address), 1, &first) &&
	       !resident->present(resident->context, PAGE_OF(address + size - 1), 1, &last) &&
	       first && last && !resident->read(resident->context, to, size, address);
}
