// SPDX-License-Identifier: Apache-2.0
/*
 * Runs code of files that were made to harm their readers (tests/e2e/hostile_files.py): maps
 * each as a loader would, and calls its entry point, a loop that counts down and returns. The first
 * argument is the seconds to run, the second how many mappings of one page the process has beside
 * them; the first of those has such a loop, too, as a runtime would make it.
 */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "program.h"

#define FILES_MAX 64

typedef void counts_down(unsigned long turns);

/* Where a file's entry point is now; null: it cannot be mapped. */
static counts_down *map_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	Elf64_Ehdr header;
	char *at;

	if (fd < 0 || fstat(fd, &st) || pread(fd, &header, sizeof(header), 0) != sizeof(header))
		return NULL;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED || header.e_entry >= (size_t)st.st_size)
		return NULL;
	return (counts_down *)(at + header.e_entry);
}

/* Neighbours that differ in what may be done with them stay mappings of their own. */
static counts_down *map_pages(size_t count)
{
	/* sub $1, %rdi; jnz to it; ret */
	static const unsigned char code[] = {0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), i;
	char *at = mmap(NULL, count * page, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	memcpy(at, code, sizeof(code));
	for (i = 1; i < count; i += 2)
		if (mprotect(at + i * page, page, PROT_READ | PROT_EXEC))
			return NULL;
	return (counts_down *)at;
}

int main(int argc, char **argv)
{
	counts_down *entries[FILES_MAX + 1];
	int count = 0, i;

	if (argc < 3)
		return 2;
	program_begin(argc, argv);
	for (i = 3; i < argc && count < FILES_MAX; i++) {
		entries[count] = map_file(argv[i]);
		if (!entries[count++])
			return 1;
	}
	if (atol(argv[2]) > 0) {
		entries[count] = map_pages((size_t)atol(argv[2]));
		if (!entries[count++])
			return 1;
	}
	program_ready();
	do {
		spin(MILLISECOND);
		for (i = 0; i < count; i++)
			entries[i](MILLISECOND);
		NO_TAIL_CALL();
	} while (!program_over());
	return 0;
}
