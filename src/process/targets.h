/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_TARGETS_H
#define PROCESS_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"
#include "process/image.h"

/*
 * The processes known to a recording, with their executable mappings, as of the last event
 * (targets_handle()). Processes that started before are read from /proc when they are first
 * requested.
 *
 * Threads of a process are known by tid only. A process that executes another file keeps its struct
 * process; execs is incremented.
 */
struct targets;
struct far_files;

struct mapping {
	uint64_t start, end;
	uint64_t offset;     /* in the file */
	uint64_t bias;	     /* pc - bias is the image's virtual address; 0 without a file */
	struct image *image; /* never null */
};

struct process {
	pid_t pid, parent;
	uint64_t start;	   /* ns of CLOCK_MONOTONIC; 0: not known */
	uint64_t end;	   /* the same; 0: still running */
	uint32_t execs;	   /* number of executions since it is known */
	uint64_t executed; /* time of the last one, the same; 0: none */
	char comm[16];
	char *command; /* arguments joined by spaces; "": it ended too soon */
	char *exe;
	char *cgroup; /* path in version 2, or the longest in version 1 */
	/*
	 * container id in the cgroup path: docker, podman, containerd, cri-o, lxc; "": none. In a
	 * pod of Kubernetes followed by " NAMESPACE/POD/CONTAINER" (pods.h)
	 */
	char *container;
	/*
	 * effective user, when it was met or executed a program: a name or a number (users.h); "":
	 * not known
	 */
	char *user;
	/* what its program says of itself, as labels (process_set_resource()); "": nothing yet */
	char *resource;
	struct mapping *mappings; /* executable ones, sorted by start, not overlapping */
	size_t mapping_count;
	uint32_t generation; /* incremented by each change of mappings */
	/* reads its memory if that may be on a file system that hangs; may be null */
	struct far_files *far;
	dev_t far_device; /* device of mapped code whose file system may hang; 0: none */
	void *owner;	  /* state of the recorder, which the listener's process_gone() frees */
};

/* Callbacks of the owner of targets. Each may be null. */
struct targets_listener {
	void *context;
	/*
	 * An image is mapped for the first time; or no process maps it any more, and it will be
	 * freed.
	 */
	void (*image_new)(void *context, struct image *image);
	void (*image_gone)(void *context, struct image *image);
	/* A known process has just mapped an image; what it had mapped before is in mappings. */
	void (*image_mapped)(void *context, struct process *process, const struct image *image);
	/* A process became known: from /proc (parent is null), or by a fork of parent. */
	void (*process_new)(void *context, struct process *process, const struct process *parent);
	/* A process executed a file: comm, exe and command are new, and nothing is mapped yet. */
	void (*process_executed)(void *context, struct process *process);
	/* A process changed its name, or more is known about its program: comm or exe is new. */
	void (*process_changed)(void *context, struct process *process);
	/* A thread got a name (comm), also at its creation. */
	void (*thread_named)(void *context, struct process *process, pid_t tid, const char *comm);
	/*
	 * Mappings in [start, end) are about to be replaced at `time`; [0, ~0) for exec. Not called
	 * for a new mapping where nothing executable was mapped.
	 */
	void (*mappings_replaced)(void *context, struct process *process, uint64_t time,
				  uint64_t start, uint64_t end);
	/*
	 * A process ended. The struct is freed when targets_forget_before() has passed that time.
	 * If owner was set again meanwhile (e.g. by a sample of the last moment), the callback is
	 * called once more before that.
	 */
	void (*process_gone)(void *context, struct process *process);
};

int targets_new(const struct targets_listener *listener, struct targets **targets);

/*
 * Sets the helper that opens files of targets (process/far_files.h); may be null; must outlive
 * targets.
 */
void targets_read_far(struct targets *targets, struct far_files *far);
/*
 * Calls the listener's process_gone() for each running process (with end 0), and image_gone() for
 * each image.
 */
void targets_free(struct targets *targets);

/* A process event of the kernel, in order of time (process/sideband.h). */
struct target_event {
	enum target_event_kind {
		TARGET_FORK = 1, /* pid, tid: the new one; parent_pid, parent_tid: its creator */
		TARGET_EXEC,	 /* comm; the mappings are gone, new ones follow as TARGET_MMAP */
		TARGET_COMM,	 /* comm */
		TARGET_MMAP,	 /* executable memory was mapped */
		TARGET_EXIT,	 /* a thread ended; and the process, if it was the last thread */
	} kind;
	uint64_t time;
	pid_t pid, tid, parent_pid, parent_tid;
	char comm[16];
	uint64_t start, length, offset;
	dev_t device;
	ino_t inode;
	const char *path; /* for TARGET_MMAP; "//anon", "[vdso]" … for memory without a file */
};
void targets_handle(struct targets *targets, const struct target_event *event);

/* A process that is already known; else null. */
struct process *targets_known(struct targets *targets, pid_t pid);

/* Calls emit() for each known process; some have ended. */
void targets_each(const struct targets *targets,
		  void (*emit)(void *context, const struct process *process), void *context);

/* A process, read from /proc if it is not known yet; null: it does not exist. */
struct process *targets_find(struct targets *targets, pid_t pid);

/*
 * Whether a process has a thread with that tid, or had one that ended after since. comm: set to its
 * name, if known.
 */
bool targets_has_thread(const struct targets *targets, const struct process *process, pid_t tid,
			uint64_t since, char comm[16]);

/*
 * Calls emit() with the image of a file that a process will map soon. Like an image that no process
 * maps any more, it is kept for some seconds.
 */
void targets_learn(struct targets *targets, const char *path,
		   void (*emit)(void *context, const struct image *image), void *context);

/*
 * Reads the mappings of a running process again, and reports changes to the listener. False: the
 * process has ended.
 */
bool targets_reread(struct targets *targets, struct process *process);

/*
 * Ignores the events of processes that were not requested with targets_find(), and are not children
 * of those. Otherwise every process in an event becomes known.
 */
void targets_ignore_strangers(struct targets *targets, bool ignore);

/*
 * Call it after events were lost: each process is read again when it is next requested, and
 * processes that have ended meanwhile are found, some in each targets_forget_before().
 */
void targets_distrust_all(struct targets *targets);

/* The number of known objects, and of losses so far. */
struct target_counts {
	uint64_t processes, threads, images;
	/* more than PROCESSES_MAX, or no memory; their samples have no process */
	uint64_t refused_processes;
	/* their process may appear to end too early */
	uint64_t refused_threads;
	/* their addresses are in no known mapping */
	uint64_t refused_mappings;
	/* files that could not be opened: no unwind tables and no symbols */
	uint64_t unopened_images;
	/* their mappings could not be read: only later ones are known */
	uint64_t unreadable_processes;
};
struct target_counts targets_counts(const struct targets *targets);

/*
 * Frees processes that ended before time, which must not be requested any more. UINT64_MAX: all
 * that have ended.
 */
void targets_forget_before(struct targets *targets, uint64_t time);

/*
 * Reads size bytes at an address of a process (a struct process). The helper (process/far_files.h)
 * reads what is not in memory yet and may be on a file system that hangs. Returns 0; -EFAULT: a
 * part is not mapped, or not readable; -ESRCH: the process has ended.
 */
int process_read(void *process, void *to, size_t size, uint64_t address);

/* Of the program that it runs now. 0 or -ENOMEM. */
int process_set_resource(struct process *process, const char *labels);

/* The mapping that contains pc, or null. */
struct mapping *process_mapping(const struct process *process, uint64_t pc);

/*
 * Reads the name of a thread from /proc; "": it has ended. *start: its start (monotonic ns); 0: not
 * known.
 */
void target_thread_of(pid_t pid, pid_t tid, char comm[16], uint64_t *start);

/* Calls emit() for each process of this machine. */
int targets_each_pid(void (*emit)(void *context, pid_t pid), void *context, struct fail *why);

#endif
