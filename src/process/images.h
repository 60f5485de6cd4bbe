/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGES_H
#define PROCESS_IMAGES_H

#include <stdint.h>
#include <sys/types.h>

#include "process/image.h"

/*
 * All images of this machine that some known process maps, each once. A file is the same as long as
 * the kernel names it by the same device and inode and it was not written to since: the open
 * descriptor keeps the inode from being given to another file.
 *
 * An image that no caller uses any more is kept for some seconds, because programs that run again
 * and again (compilers, shells) would otherwise be opened and prepared each time.
 */
struct images;
struct far_files;

struct images_listener {
	void *context;
	void (*image_new)(void *context, struct image *image);
	void (*image_gone)(void *context, struct image *image);
};

int images_new(const struct images_listener *listener, struct images **images);

/* Their files are opened by far, which may be null and must outlive them (far_files.h). */
void images_read_far(struct images *images, struct far_files *far);
struct far_files *images_far(const struct images *images);

/* Frees all images, used or not; image_gone() is called for each. */
void images_free(struct images *images);

/* A mapping whose image is asked for. */
struct image_question {
	pid_t pid;
	uint64_t start, end;
	dev_t device;
	ino_t inode;
	const char *path; /* as maps or the kernel's event has it */
};

/* The image behind a mapping, with one more user; null: no memory, or IMAGES_MAX are in use. */
struct image *images_get(struct images *images, const struct image_question *question);

void images_use(struct image *image);
void images_release(struct images *images, struct image *image, uint64_t time);

/* Frees what no caller has used for some seconds before time; UINT64_MAX: all unused images. */
void images_forget_before(struct images *images, uint64_t time);

/* What to subtract from a pc in a mapping of image; see struct mapping. */
uint64_t images_bias(const struct image *image, uint64_t start, uint64_t offset);

/*
 * What a path in maps or in a kernel's event stands for, before it is opened; *name is how it is
 * called from then on (memory without a file has several names, depending on who reports it).
 */
enum image_kind image_kind_of(const char *path, ino_t inode, const char **name);

/*
 * Mappings of all processes together: room is made for `more` before they are there (false: there
 * are too many), and given back when they are gone.
 */
#define MAPPINGS_ALL_MAX (1u << 19)
bool images_add_mappings(struct images *images, size_t more);
void images_drop_mappings(struct images *images, size_t fewer);

/* Images there are, and those of them that are files but could not be opened, so far. */
uint32_t images_count(const struct images *images);
uint64_t images_unopened(const struct images *images);

#define IMAGES_MAX 65536

#endif
