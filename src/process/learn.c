// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/targets_private.h"

#define MAPS_BYTES_MAX (16 * 1024 * 1024)

/* The line of our own mappings that begins at address; its path lies in the text. */
static bool find_line(char *text, uint64_t address, struct procfs_mapping *found)
{
	char *line, *next;

	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (procfs_parse_mapping(line, found) && found->start == address)
			return true;
	}
	return false;
}

static void learn_at(struct targets *targets, uint64_t address,
		     void (*emit)(void *context, const struct image *image), void *context)
{
	struct procfs_mapping found;
	struct buf text = {0};
	struct image *image = NULL;

	if (!procfs_read(getpid(), "maps", MAPS_BYTES_MAX, &text) &&
	    find_line((char *)text.at, address, &found) && found.inode)
		image = images_get(targets->images,
				   &(struct image_question){getpid(), found.start, found.end,
							    found.device, found.inode, found.path});
	if (image) {
		emit(context, image);
		images_release(targets->images, image, procfs_now());
	}
	buf_free(&text);
}

void targets_learn(struct targets *targets, const char *path,
		   void (*emit)(void *context, const struct image *image), void *context)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	/*
	 * Which file the kernel will name when a process maps it: on some file systems that is
	 * another one than stat() says.
	 */
	if (at != MAP_FAILED) {
		learn_at(targets, (uint64_t)(uintptr_t)at, emit, context);
		munmap(at, size);
	}
	if (fd >= 0)
		close(fd);
}
