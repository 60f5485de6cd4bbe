/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_FAR_FILES_H
#define PROCESS_FAR_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * All files of targets are opened here. What lies on a file system of this machine's kernel (by
 * mountinfo, which asks no file system) is opened as ever. What is far (process/mounts.h) is opened
 * and read by a helper process (process/far_helper.h), so that the recorder does not stand still
 * with it, and what is returned is a descriptor for the functions of base/file.h. The helper is
 * started for the first of them.
 *
 * In all functions far may be null: then files are opened as ever, wherever they are.
 */
struct far_files;

int far_files_new(struct far_files **far);
void far_files_free(struct far_files *far);

/*
 * Opens what a place (a descriptor of O_PATH, which is closed) stands for, if it is a regular file.
 * device: of its file system, as maps has it; path: for messages; pid: whose mounts it is in.
 * Returns a descriptor with *st filled; -ENXIO: not a regular file; -ETIMEDOUT: its file system
 * does not answer; or another negative errno.
 */
int far_files_open(struct far_files *far, int place, pid_t pid, dev_t device, const char *path,
		   struct stat *st);

/*
 * Opens the regular file at path, which is absolute. root: "" for this machine's own; else a
 * directory ("/proc/123/root") that stands for "/". links: whether the last component may be a
 * symbolic link. As above; after -ENXIO *st says what there is.
 */
int far_files_open_path(struct far_files *far, const char *root, const char *path, bool links,
			struct stat *st);

/* Whether a file system that a process sees may not answer. */
bool far_files_is_far(struct far_files *far, pid_t pid, dev_t device);

/*
 * As process_vm_readv(2) of one piece, of FAR_BYTES_MAX at most, for memory that the file system of
 * a device may have to bring.
 */
ssize_t far_files_read_memory(struct far_files *far, pid_t pid, dev_t device, uint64_t address,
			      void *to, size_t size);

/* A file system that does not answer. */
struct far_hang {
	uint64_t since; /* ns of CLOCK_MONOTONIC */
	dev_t device;
	char path[256];		   /* that was asked for */
	char point[256], type[64]; /* its mount, as far as it is known: "" */
};

/* Those of now, at most room; how many. */
size_t far_files_hangs(struct far_files *far, struct far_hang *hangs, size_t room);

/* So far: questions that were not answered, and times that a file system answered at last. */
struct far_counts {
	uint64_t refused, hangs, returns;
};
struct far_counts far_files_counts(const struct far_files *far);

#endif
