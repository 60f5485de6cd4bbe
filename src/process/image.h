/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_IMAGE_H
#define PROCESS_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Images: files (and what stands for files) that code is mapped from. One image serves all
 * processes that map the same file (device, inode, size, change time). It is opened while a process
 * that maps it lives, and stays readable through its descriptor after the file was deleted or
 * replaced, or the process and its namespaces are gone.
 */

enum image_kind {
	IMAGE_FILE = 1,
	IMAGE_VDSO,
	IMAGE_VSYSCALL,
	IMAGE_ANON,    /* memory without a file */
	IMAGE_SPECIAL, /* "[uprobes]", device memory … */
};

#define IMAGE_BUILD_ID_MAX 64

/* An executable PT_LOAD segment: what is needed to turn file offsets into virtual addresses. */
struct image_segment {
	uint64_t offset, address, size;
};

/*
 * What a file is as long as it is not written to. Without its descriptor, an inode may have become
 * another file's; that one changed later. All zero: there is no file.
 */
struct image_identity {
	uint64_t device, inode, size;
	uint64_t changed, modified; /* ns since 1970 */
};

struct image {
	uint32_t number; /* small, unique while the image lives, used again afterwards */
	enum image_kind kind;
	dev_t device;
	ino_t inode;
	struct image_identity identity; /* as it was when it was looked at last */
	char *path; /* as the first process that mapped it saw it, without " (deleted)" */
	/* "/proc/PID/root" of that process if it lives in another mount namespace, else "" */
	char *root;
	int fd;		    /* -1: could not be opened, or there is no file */
	const void *memory; /* vDSO: the image itself */
	size_t memory_size;
	bool is_elf;
	bool is_of_root; /* only root can have written it */
	bool is_far;	 /* its file system may not answer (process/far_files.h) */
	uint8_t build_id[IMAGE_BUILD_ID_MAX];
	uint32_t build_id_size;
	struct image_segment *segments;
	uint32_t segment_count;
	uint32_t users; /* mappings that refer to it; see images in targets.c */
};

/*
 * What must be subtracted from an address in a mapping that begins at start with file offset offset
 * to get the image's virtual address. Returns false if no executable segment holds that offset
 * (then *bias is start - offset: addresses are file offsets).
 */
bool image_bias(const struct image *image, uint64_t start, uint64_t offset, uint64_t *bias);

#endif
