/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_PROBED_FILES_H
#define SOURCES_PROBED_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"
#include "attach/uprobes.h"
#include "film/writer.h"
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

/* Loads the program of the probes of files, before the kernel's side is loaded. */
void probed_files_prepare(struct bpf_program *site);

/*
 * For files that are all zero. bind: probes are set for each process by itself, where the kernel
 * can; else wherever the file runs. Returns 0 or a negative errno: then there is nothing to free.
 */
int probed_files_begin(struct probed_files *files, struct bpf_program *site, bool bind, bool keep);
/* Takes the probes away. */
void probed_files_detach(struct probed_files *files);
void probed_files_free(struct probed_files *files);

/* Whether an image is the file of that number. */
bool probed_files_is(const struct probed_files *files, uint32_t number, const struct image *image);

/*
 * Returns the number of an image's file; -1: it needs no probes, or cannot have any. add() looks at
 * one that is not known: it returns what probed_files_add() does, or -1, and is not called with
 * that file again then.
 */
int probed_files_meet(struct probed_files *files, const struct image *image,
		      int (*add)(void *context, const struct image *image), void *context);

/* Adds a file with its own descriptor. Returns its number, or -1 without memory or descriptors. */
int probed_files_add(struct probed_files *files, const struct image *image);

/*
 * A process runs the file of that number. Sets the probes that it lacks, and *state to its
 * state now (enum source_image). Returns 0 or a negative errno with *why filled; -ESRCH: the
 * process has ended. A file whose probes could not be set wherever it runs is not tried again.
 */
int probed_files_run(struct probed_files *files, uint32_t number, pid_t pid,
		     const struct uprobe_place *places, size_t count, unsigned int *state,
		     struct fail *why);

/* Whether a process runs one of the files: of those that are kept. */
bool probed_files_has(const struct probed_files *files, pid_t pid);

/* The process has ended. */
void probed_files_ended(struct probed_files *files, pid_t pid);

/* Files, or processes, that cannot be followed, with the last one's reason. */
struct probed_refused {
	uint64_t count;
	char why[160];
};

void probed_refused_add(struct probed_refused *refused, const struct fail *why);
/* Reports them to a film. what: "tasks of a program not followed". */
void probed_refused_report(const struct probed_refused *refused, struct film_writer *film,
			   uint32_t event, const char *what);

#endif
