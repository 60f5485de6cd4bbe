// SPDX-License-Identifier: Apache-2.0
#include "process/image_at.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "process/image_elf.h"
#include "process/image_open.h"
#include "process/procfs.h"

#define MAPS_BYTES_MAX (64 * 1024 * 1024)

/* The line of maps for an address; its path lies in the text. False: there is none. */
static bool find_line(char *text, uint64_t address, struct procfs_mapping *found)
{
	char *line, *next;

	for (line = text; *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (procfs_parse_mapping(line, found) && found->start <= address &&
		    address < found->end)
			return true;
	}
	return false;
}

static int fill(struct far_files *far, struct image *image, const struct image_question *question)
{
	char root[32] = "";
	struct stat st;
	int err;

	image_root(question->pid, root, sizeof(root));
	image->root = strdup(root);
	image->path = strdup(question->path);
	if (!image->root || !image->path)
		return -ENOMEM;
	image->fd = image_open(far, question, &st);
	if (image->fd < 0) {
		err = image->fd;
		image->fd = -1;
		return err;
	}
	return image_read_elf(image);
}

int image_at(struct far_files *far, pid_t pid, uint64_t address, struct image *image)
{
	struct procfs_mapping found;
	struct buf text = {0};
	int err = procfs_read(pid, "maps", MAPS_BYTES_MAX, &text);

	*image = (struct image){.kind = IMAGE_FILE, .fd = -1};
	if (!err && (!find_line((char *)text.at, address, &found) || !found.inode))
		err = -ENOENT;
	if (!err) {
		image->device = found.device;
		image->inode = found.inode;
		err = fill(far, image,
			   &(struct image_question){pid, found.start, found.end, found.device,
						    found.inode, found.path});
	}
	buf_free(&text);
	if (err)
		image_at_close(image);
	return err;
}

void image_at_close(struct image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	free(image->segments);
	free(image->path);
	free(image->root);
	*image = (struct image){.fd = -1};
}
