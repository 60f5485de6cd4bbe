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
 * The processes that recording has met, with their executable mappings, as they were at the moment
 * up to which events have been given in (targets_take()). Processes that lived before are read from
 * /proc when they are first asked for.
 *
 * Threads of a process are known by tid only; a process that executes another file stays the same
 * struct process, with a new `exec` number.
 */
struct targets;
struct far_files;

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t bias;	 /* pc - bias: virtual address of the image; 0 without a file: pc itself */
	struct image *image; /* never null */
};

struct process {
	pid_t pid, parent;
	uint64_t start;	   /* ns of CLOCK_MONOTONIC, 0: not known */
	uint64_t end;	   /* the same; 0: lives */
	uint32_t execs;	   /* times it has called exec since it is known, */
	uint64_t executed; /* and when it did so last, the same; 0: never */
	char comm[16];
	char *command; /* arguments joined by spaces; "" if it was gone too soon */
	char *exe;
	char *cgroup; /* v2 path, or the longest of the v1 ones */
	/*
	 * id found in the cgroup path: docker, podman, containerd, cri-o, lxc; "". Of a pod of
	 * Kubernetes, behind it " NAMESPACE/POD/CONTAINER" (pods.h)
	 */
	char *container;
	struct mapping *mappings; /* executable ones, sorted by start, not overlapping */
	size_t mapping_count;
	uint32_t generation; /* goes up with each change of mappings */
	struct far_files
		*far;	  /* reads its memory, if that may have to come from afar; may be null */
	dev_t far_device; /* of code that it maps whose file system may not answer; 0: none */
	void *owner;	  /* what camera/ hangs on it; freed by listener->gone */
};

/*
 * What the owner of targets wants to hear. Any of them may be null. target/ knows nothing of who
 * listens.
 */
struct targets_listener {
	void *context;
	/*
	 * A new image is mapped for the first time / is no longer mapped by anyone (it is freed
	 * next).
	 */
	void (*image_new)(void *context, struct image *image);
	void (*image_gone)(void *context, struct image *image);
	/* A process that is known has mapped it, now; what it had mapped before is in mappings. */
	void (*image_mapped)(void *context, struct process *process, const struct image *image);
	/*
	 * A process is known now: read from /proc, or born (parent: null, or whom it was forked
	 * from).
	 */
	void (*process_new)(void *context, struct process *process, const struct process *parent);
	/* It executed a file: comm, exe, command are new, and nothing is mapped yet. */
	void (*process_executed)(void *context, struct process *process);
	/* It changed its name, or more is known of what it executed: comm or exe is new. */
	void (*process_changed)(void *context, struct process *process);
	/* A thread got a name (comm), also at its birth. */
	void (*thread_named)(void *context, struct process *process, pid_t tid, const char *comm);
	/*
	 * Mappings in [start, end) are about to be replaced by others at time; [0, ~0) at exec. Not
	 * called when a mapping just appears where nothing executable was.
	 */
	void (*mappings_replaced)(void *context, struct process *process, uint64_t time,
				  uint64_t start, uint64_t end);
	/*
	 * It ended; the struct is freed after targets_forget_before() passes that time. If owner
	 * was set again meanwhile (a sample of its last moment, say), it is called once more before
	 * that.
	 */
	void (*process_gone)(void *context, struct process *process);
};

int targets_new(const struct targets_listener *listener, struct targets **targets);

/* Their files are opened by far, which may be null and must outlive them (process/far_files.h). */
void targets_read_far(struct targets *targets, struct far_files *far);
/*
 * The listener hears process_gone() for each living process (with end 0), image_gone() for each
 * image.
 */
void targets_free(struct targets *targets);

/* One change in some process's life, from the kernel, in order of time (target/sideband.h). */
struct target_event {
	enum target_event_kind {
		TARGET_FORK = 1, /* pid/tid: the new one; parent_pid/parent_tid: its maker */
		TARGET_EXEC,	 /* comm; the mappings are gone, new ones follow as TARGET_MMAP */
		TARGET_COMM,	 /* comm */
		TARGET_MMAP,	 /* executable memory appeared */
		TARGET_EXIT,	 /* thread tid ended; the process, if it was the last one */
	} kind;
	uint64_t time;
	pid_t pid, tid, parent_pid, parent_tid;
	char comm[16];
	uint64_t start, length, offset;
	dev_t device;
	ino_t inode;
	const char *path; /* TARGET_MMAP; "//anon", "[vdso]" … for memory without a file */
};
void targets_take(struct targets *targets, const struct target_event *event);

/* The process, if it is known by now; else null. */
struct process *targets_known(struct targets *targets, pid_t pid);

/* Calls take() for each process that is known; some have ended. */
void targets_each(const struct targets *targets,
		  void (*take)(void *context, const struct process *process), void *context);

/* The process, read from /proc if it is not known yet; null: there is none. */
struct process *targets_find(struct targets *targets, pid_t pid);

/*
 * Whether a process has a thread of that number, or had one that has ended since, lately. comm: its
 * name, as far as it is known.
 */
bool targets_has_thread(const struct targets *targets, const struct process *process, pid_t tid,
			uint64_t since, char comm[16]);

/*
 * Calls take() with the image of a file that a process will map soon. It stays for some seconds, as
 * one does that no process maps any more.
 */
void targets_learn(struct targets *targets, const char *path,
		   void (*take)(void *context, const struct image *image), void *context);

/* Reads the mappings of a living process again. False: it is gone. Listeners hear of changes. */
bool targets_reread(struct targets *targets, struct process *process);

/*
 * Says that only processes are of interest that were asked for by targets_find(), and what they
 * fork: events of all others are passed over. Without it, every process that an event names becomes
 * known.
 */
void targets_ignore_strangers(struct targets *targets, bool ignore);

/*
 * After events were lost: what is known of each process is read again when it is next asked for,
 * and those that have gone meanwhile are found, some at each targets_forget_before().
 */
void targets_distrust_all(struct targets *targets);

/* How much is known, and what could not be kept or had, so far. */
struct target_counts {
	uint64_t processes, threads, images;
	/* over PROCESSES_MAX, or no memory; their samples have no process */
	uint64_t refused_processes;
	/* their process may seem to end too early */
	uint64_t refused_threads;
	/* their addresses lie in no mapping */
	uint64_t refused_mappings;
	/* files that could not be opened: neither tables nor symbols */
	uint64_t unopened_images;
	/* mappings that may not be read: only those are known that appeared since */
	uint64_t unreadable_processes;
};
struct target_counts targets_counts(const struct targets *targets);

/* Frees what ended before time and can no longer be asked for. UINT64_MAX: all that has ended. */
void targets_forget_before(struct targets *targets, uint64_t time);

/*
 * Reads size bytes of its memory at address; context: the process. What is not in memory yet, and
 * may be of a file system that does not answer, is read by the helper (process/far_files.h).
 * Returns 0; -EFAULT: a part is not there, or not to be had; -ESRCH: it is gone.
 */
int process_read(void *process, void *to, size_t size, uint64_t address);

/* The mapping that holds pc, or null. */
struct mapping *process_mapping(const struct process *process, uint64_t pc);

/*
 * The name of a thread from /proc; "" when it is gone. start: when it was born (monotonic ns), 0:
 * not known.
 */
void target_thread_of(pid_t pid, pid_t tid, char comm[16], uint64_t *start);

/* All processes of this machine, for a whole-machine scan: calls take(context, pid) for each. */
int targets_each_pid(void (*take)(void *context, pid_t pid), void *context, struct fail *why);

#endif
