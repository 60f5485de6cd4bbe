/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_H
#define PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Images: files, or substitutes for files, from which code is mapped. One image serves all
 * processes that map the same file (device, inode, size, change time). It is opened while a process
 * that maps it runs, and its descriptor stays readable after the file was deleted or replaced, or
 * the process and its namespaces are gone.
 */

enum image_kind {
	IMAGE_FILE = 1,
	IMAGE_VDSO,
	IMAGE_VSYSCALL,
	IMAGE_ANON,    /* memory that no file backs */
	IMAGE_SPECIAL, /* "[uprobes]", device memory … */
};

#define IMAGE_BUILD_ID_MAX 64

/* An executable PT_LOAD segment, to convert file offsets to virtual addresses. */
struct image_segment {
	uint64_t offset, address, size;
};

/*
 * Identifies the content of a file until it is written to. An inode number may be reused for
 * another file, whose change time is later. All zero: no file.
 */
struct image_identity {
	uint64_t device, inode, size;
	uint64_t changed, modified; /* ns since 1970 */
};

struct image {
	uint32_t number; /* small, unique among existing images, reused later */
	enum image_kind kind;
	dev_t device;
	ino_t inode;
	struct image_identity identity; /* as of the last check */
	/* in the file system of the first process that mapped it, without " (deleted)" */
	char *path;
	/* "/proc/PID/root" of that process if it is in another mount namespace, else "" */
	char *root;
	int fd;		    /* -1: not opened, or no file */
	const void *memory; /* vDSO: the image itself */
	size_t memory_size;
	bool is_elf;
	bool is_of_root; /* only root can have written it */
	bool is_far;	 /* its file system may hang (process/far_files.h) */
	uint8_t build_id[IMAGE_BUILD_ID_MAX];
	uint32_t build_id_size;
	struct image_segment *segments;
	uint32_t segment_count;
	uint32_t users; /* number of mappings that refer to it; see images in targets.c */
};

/*
 * Sets *bias to the number to subtract from an address, in a mapping at start with file offset
 * offset, to get the image's virtual address. False: no executable segment contains that offset;
 * *bias is start - offset then, so that addresses are file offsets.
 */
bool image_bias(const struct image *image, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
