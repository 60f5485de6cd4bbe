/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PROCFS_H
#define PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * Reads and parses the files of /proc/PID, as described in proc(5). Functions that read limit the
 * size. Functions that parse accept any text, because the process controls some of its parts.
 */

/* One line of maps. */
struct procfs_mapping {
	uint64_t start, end;
	uint64_t offset;
	dev_t device;
	ino_t inode;
	bool readable, writable, executable, shared;
	char *path; /* points into the line; unescaped, without " (deleted)"; "": none */
};

/* Parses a line of maps, with or without a newline, and modifies it. False: invalid. */
bool procfs_parse_mapping(char *line, struct procfs_mapping *mapping);

struct procfs_stat {
	pid_t pid, parent;
	char comm[16]; /* truncated: kernel workers have longer names */
	char state;
	uint32_t threads;
	uint64_t cpu_ticks;   /* of all threads, in user and kernel mode */
	uint64_t start_ticks; /* since boot, in units of 1/sysconf(_SC_CLK_TCK) s */
};

bool procfs_parse_stat(const char *text, struct procfs_stat *stat);

/* The number after "Tgid:" in a status file; 0: none. */
pid_t procfs_parse_tgid(const char *text);

/* The effective user in a status file. False: there is none. */
bool procfs_parse_user(const char *text, uint32_t *uid);

/*
 * The pid of the ptrace(2) tracer in a status file; 0: none. *stopped: whether the tracer has
 * stopped the process.
 */
pid_t procfs_parse_tracer(const char *text, bool *stopped);

/* One line of a cgroup file: "ID:CONTROLLERS:PATH", in version 2 "0::PATH". */
struct procfs_cgroup {
	bool v2;
	const char *controllers; /* "cpu,cpuacct", "name=systemd"; "" in version 2 */
	const char *path;
};

/*
 * Parses and modifies the line at *text, and moves *text to the next line. False: no line is left.
 */
bool procfs_parse_cgroup(char **text, struct procfs_cgroup *cgroup);

/*
 * Chooses the control group of a process from its cgroup file: the path of version 2, or, if that
 * is "/" or absent, the longest path of version 1. Modifies the text; the result points into it, or
 * is "".
 */
const char *procfs_choose_cgroup(char *text);

/* Joins the arguments of cmdline, which end with zero bytes, by spaces. */
void procfs_join_arguments(char *text, size_t length);

/*
 * Reads at most limit bytes of /proc/PID/NAME, replaces the content of text, and appends a zero
 * byte. Returns 0; -ESRCH: the process has ended; -EFBIG: the file is longer, and text has its
 * first limit bytes; or another negative errno.
 */
int procfs_read(pid_t pid, const char *name, size_t limit, struct buf *text);

/*
 * Reads and parses /proc/PID/NAME, where NAME is "stat" or "task/TID/stat". False: the process or
 * thread has ended.
 */
bool procfs_read_stat(pid_t pid, const char *name, struct procfs_stat *stat);

/* As procfs_read(), for an absolute path. */
int procfs_read_file(const char *path, size_t limit, struct buf *text);

/* Reads the target of the link /proc/PID/NAME, without " (deleted)"; false: not readable. */
bool procfs_link(pid_t pid, const char *name, char *to, size_t size);

/*
 * Calls emit() for each entry of a directory whose name is a number, such as in /proc or
 * /proc/PID/task. Returns 0 or a negative errno.
 */
int procfs_each_number(const char *path, void (*emit)(void *context, pid_t number), void *context);

/*
 * Converts ticks since boot to nanoseconds of CLOCK_MONOTONIC. The clocks differ by the time that
 * the machine was suspended. Suspensions after those ticks cannot be distinguished, so the result
 * is too early by their length. Equal ticks give equal results until the machine is suspended
 * again. Never returns 0.
 */
uint64_t procfs_ticks_to_ns(uint64_t ticks);

/* CLOCK_MONOTONIC now, ns. */
uint64_t procfs_now(void);

#endif
