/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_PROBED_FILES_H
#define CAMERA_PROBED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "camera/uprobes.h"
#include "process/image.h"

/* The files that a source probes, each by its number from 0, and the processes that run them. */

struct probed_file {
	dev_t device;
	ino_t inode;
	int fd; /* as long as this lives */
	char path[32];
	bool is_open;	 /* its probes are set wherever it runs */
	bool is_refused; /* they could not be */
};

/* A process that runs one. */
struct probed_process {
	pid_t pid;
	uint32_t file;
};

struct probed_files {
	struct uprobes *uprobes; /* null: they were taken away */
	bool bind;		 /* each process has probes of its own */
	bool keep;		 /* processes without probes of their own are kept, too */
	vec(struct probed_file) files;
	vec(struct probed_process) processes;
	struct map others; /* files that need no probes: a hash of device and inode */
};

/*
 * For files that are all zero. bind: probes are set for each process by itself, where the kernel
 * can; else wherever the file runs. Returns 0 or a negative errno: then there is nothing to free.
 */
int probed_files_begin(struct probed_files *files, struct bpf_program *site, bool bind, bool keep);
/* Takes the probes away. */
void probed_files_detach(struct probed_files *files);
void probed_files_free(struct probed_files *files);

/* Whether an image may need probes: it is a file that is not known to be another one. */
bool probed_files_may(const struct probed_files *files, const struct image *image);

/* Whether an image is the file of that number. */
bool probed_files_is(const struct probed_files *files, uint32_t number, const struct image *image);

/* Returns the number of the file; -1: it is not known. */
int probed_files_find(const struct probed_files *files, const struct image *image);

/* Adds a file with its own descriptor. Returns its number, or -1 without memory or descriptors. */
int probed_files_add(struct probed_files *files, const struct image *image);

/* Remembers a file that needs no probes, so that it is not looked at again. */
void probed_files_pass(struct probed_files *files, const struct image *image);

/*
 * A process runs the file of that number. Sets the probes that it lacks, and *state to its
 * state now (enum source_image). Returns 0 or a negative errno with *why filled; -ESRCH: the
 * process has ended. A file whose probes could not be set wherever it runs is not tried again.
 */
int probed_files_run(struct probed_files *files, uint32_t number, pid_t pid,
		     const struct uprobe_place *places, size_t count, unsigned int *state,
		     struct fail *why);

/* The process has ended. */
void probed_files_ended(struct probed_files *files, pid_t pid);

#endif
