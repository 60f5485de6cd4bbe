// SPDX-License-Identifier: Apache-2.0
#include "process/image_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"
#include "elf/file.h"
#include "process/procfs.h"

/*
 * btrfs and overlayfs show one device number in maps and another one in stat(2), and so may what
 * lies below them.
 */
static bool device_is_vague(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return false;
	return fs.f_type == BTRFS_SUPER_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/*
 * Whether what was opened is the mapped file; else closes it. by_link: the kernel itself led there,
 * and an overlay may show an inode of the layer below. What a far file lies on is not asked.
 */
static int check_file(int fd, const struct image_question *q, bool by_link, const struct stat *st)
{
	if (fd < 0 || (st->st_ino == q->inode && st->st_dev == q->device))
		return fd;
	if (st->st_ino == q->inode && file_is_far(fd))
		return fd;
	if ((st->st_ino == q->inode || by_link) && device_is_vague(fd))
		return fd;
	close(fd);
	return -ESTALE;
}

static int open_by_link(struct far_files *far, const struct image_question *q, struct stat *st)
{
	char path[80];
	int place;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)q->pid,
		 q->start, q->end);
	place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	return check_file(far_files_open(far, place, q->pid, q->device, q->path, st), q, true, st);
}

/* root: "", or of a container, out of which the links within the path must not lead. */
static int open_by_path(struct far_files *far, const char *root, const struct image_question *q,
			struct stat *st)
{
	return check_file(far_files_open_path(far, root, q->path, true, st), q, false, st);
}

int image_open(struct far_files *far, const struct image_question *q, struct stat *st)
{
	int fd = open_by_link(far, q, st);
	char root[32];

	if (fd >= 0 || fd == -EMFILE || fd == -ENFILE || fd == -ENXIO || fd == -ETIMEDOUT ||
	    q->path[0] != '/')
		return fd;
	snprintf(root, sizeof(root), "/proc/%d/root", (int)q->pid);
	fd = open_by_path(far, root, q, st);
	if (fd >= 0 || fd == -ENXIO || fd == -ETIMEDOUT)
		return fd;
	return open_by_path(far, "", q, st);
}

/* What a link of /proc says, which asks no file system. */
static bool reads_as(const char *link, char *to, size_t size)
{
	ssize_t length = readlink(link, to, size - 1);

	to[length > 0 ? length : 0] = 0;
	return length > 0;
}

void image_root(pid_t pid, char *root, size_t size)
{
	char path[32], own[64], its[64];
	bool is_same;

	/* what can't be seen (no right to, or gone) counts as the same: there is nothing better */
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
	is_same = !reads_as(path, its, sizeof(its)) ||
		  !reads_as("/proc/self/ns/mnt", own, sizeof(own)) || !strcmp(its, own);
	snprintf(root, size, "/proc/%d/root", (int)pid);
	if (is_same && (!reads_as(root, its, sizeof(its)) || !strcmp(its, "/")))
		root[0] = 0;
}

/* Far beyond what linkers make; the kernel itself takes no more than 64 KiB of program headers. */
#define SEGMENTS_MAX   1024
#define NOTE_BYTES_MAX (64 * 1024)

_Static_assert(IMAGE_BUILD_ID_MAX == ELF_BUILD_ID_MAX, "build ids are copied whole");

static bool is_code(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X &&
	       segment->p_offset <= UINT64_MAX - segment->p_filesz;
}

int image_read_elf(struct image *image)
{
	vec(struct image_segment) segments = {0};
	int err = 0, notes = ELF_NOTES_MAX;
	struct elf_file file;
	Elf64_Phdr s;

	image->is_elf = !elf_file_open_bare(&file, image->memory ? -1 : image->fd, image->memory,
					    image->memory_size);
	for (uint32_t i = 0; image->is_elf && i < SEGMENTS_MAX && !err; i++) {
		if (!elf_file_segment(&file, i, &s))
			break;
		if (s.p_type == PT_NOTE && !file.build_id_size)
			elf_file_read_build_id(&file, s.p_offset,
					       s.p_filesz < NOTE_BYTES_MAX ? s.p_filesz
									   : NOTE_BYTES_MAX,
					       s.p_align, &notes);
		if (is_code(&s) &&
		    !vec_push(&segments, (struct image_segment){s.p_offset, s.p_vaddr, s.p_filesz}))
			err = -ENOMEM;
	}
	if (image->is_elf) {
		memcpy(image->build_id, file.build_id, sizeof(image->build_id));
		image->build_id_size = file.build_id_size;
		elf_file_close(&file);
	}
	image->segments = segments.at;
	image->segment_count = (uint32_t)segments.count;
	return err;
}

bool image_bias(const struct image *image, uint64_t start, uint64_t offset, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct image_segment *found = NULL;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct image_segment *s = &image->segments[i];
		uint64_t first = s->offset & ~(page - 1);

		/* a segment is mapped from the start of its first page, where another may end */
		if (offset < first || offset >= s->offset + s->size)
			continue;
		if (!found || offset == first)
			found = s;
	}
	*bias = start - offset;
	if (!found)
		return false;
	*bias += found->offset - found->address;
	return true;
}

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
