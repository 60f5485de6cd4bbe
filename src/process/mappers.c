// SPDX-License-Identifier: Apache-2.0
#include "process/mappers.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "process/procfs.h"

#define MAPS_BYTES_MAX (16 * 1024 * 1024)

/* Calls emit() for each line of a text until it returns false. The text is changed. */
static void each_line(struct buf *text,
		      bool (*emit)(void *context, const struct procfs_mapping *mapping),
		      void *context)
{
	struct procfs_mapping mapping;
	char *line, *next;

	for (line = (char *)text->at; line && *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (procfs_parse_mapping(line, &mapping) && !emit(context, &mapping))
			return;
	}
}

struct own {
	uint64_t start;
	struct mapped_file file;
	bool found;
};

static bool match_own(void *context, const struct procfs_mapping *mapping)
{
	struct own *own = context;

	if (mapping->start != own->start)
		return true;
	own->file = (struct mapped_file){mapping->device, mapping->inode};
	own->found = true;
	return false;
}

bool mapped_file_of(int fd, struct mapped_file *file)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *place = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	struct own own = {.start = (uintptr_t)place};
	struct buf text = {0};
	struct stat st;

	if (place == MAP_FAILED && file_is_far(fd) && !file_stat(fd, &st)) {
		*file = (struct mapped_file){st.st_dev, st.st_ino};
		return true;
	}
	if (place == MAP_FAILED)
		return false;
	if (!procfs_read_file("/proc/self/maps", MAPS_BYTES_MAX, &text))
		each_line(&text, match_own, &own);
	buf_free(&text);
	munmap(place, size);
	*file = own.file;
	return own.found;
}

struct search {
	const struct mapped_file *files;
	size_t count;
	void (*emit)(void *context, pid_t pid, size_t number);
	void *context;
	pid_t pid;
	struct buf text;
};

static bool compare(void *context, const struct procfs_mapping *mapping)
{
	struct search *search = context;

	/* code without a file (inode 0), such as the vdso, is of none of them */
	if (!mapping->executable || !mapping->inode)
		return true;
	for (size_t i = 0; i < search->count; i++)
		if (search->files[i].inode == mapping->inode &&
		    search->files[i].device == mapping->device)
			search->emit(search->context, search->pid, i);
	return true;
}

static void search_process(void *context, pid_t pid)
{
	struct search *search = context;

	search->pid = pid;
	if (!procfs_read(pid, "maps", MAPS_BYTES_MAX, &search->text))
		each_line(&search->text, compare, search);
}

int mappers_find(const struct mapped_file *files, size_t count,
		 void (*emit)(void *context, pid_t pid, size_t number), void *context)
{
	struct search search = {.files = files, .count = count, .emit = emit, .context = context};
	int err = procfs_each_number("/proc", search_process, &search);

	buf_free(&search.text);
	return err;
}
