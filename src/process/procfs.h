/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PROCFS_H
#define PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/*
 * The files of /proc/PID, as proc(5) describes them. The reading functions bound what they take in;
 * the parsing ones know no process and take any text, since the process chooses parts of that text.
 */

/* One line of maps. */
struct procfs_mapping {
	uint64_t start, end;
	uint64_t offset;
	dev_t device;
	ino_t inode;
	bool readable, writable, executable, shared;
	char *path; /* inside the line; escapes undone, " (deleted)" cut off; "" if there is none */
};

/*
 * Parses a line of maps, which is changed on the way; the line's end may be there or not. False: it
 * is not one.
 */
bool procfs_parse_mapping(char *line, struct procfs_mapping *mapping);

struct procfs_stat {
	pid_t pid, parent;
	char comm[16]; /* cut: kernel workers report more */
	char state;
	uint32_t threads;
	uint64_t cpu_ticks;   /* used by all its threads, in user and kernel mode */
	uint64_t start_ticks; /* since boot, 1/sysconf(_SC_CLK_TCK) s */
};

bool procfs_parse_stat(const char *text, struct procfs_stat *stat);

/* The number behind "Tgid:" in a status file; 0: there is none. */
pid_t procfs_parse_tgid(const char *text);

/*
 * The process that traces this one by ptrace(2), by its status file; 0: none. *stopped: it is
 * stopped for that.
 */
pid_t procfs_parse_tracer(const char *text, bool *stopped);

/* One line of a cgroup file: "ID:CONTROLLERS:PATH", in version 2 "0::PATH". */
struct procfs_cgroup {
	bool v2;
	const char *controllers; /* "cpu,cpuacct", "name=systemd"; "" in version 2 */
	const char *path;
};

/* Parses the line at *text, which is changed, and moves *text behind it. False: no line is left. */
bool procfs_parse_cgroup(char **text, struct procfs_cgroup *cgroup);

/*
 * The path that stands for a process: the one of version 2, or, if that is "/" or absent, the
 * longest of version 1. The text is changed; the result lies in it, or is "".
 */
const char *procfs_choose_cgroup(char *text);

/* Turns the arguments of cmdline, each ended by a zero byte, into one line joined by spaces. */
void procfs_join_arguments(char *text, size_t length);

/*
 * Reads /proc/PID/NAME, at most limit of its bytes, and adds a zero byte. Replaces what text held.
 * Returns 0; -ESRCH: the process is gone; -EFBIG: cut at limit, text holds what came before; other
 * negative errnos.
 */
int procfs_read(pid_t pid, const char *name, size_t limit, struct buf *text);

/* Reads and parses /proc/PID/NAME, where NAME is "stat" or "task/TID/stat". False: it is gone. */
bool procfs_read_stat(pid_t pid, const char *name, struct procfs_stat *stat);

/* As procfs_read(), for an absolute path. */
int procfs_read_file(const char *path, size_t limit, struct buf *text);

/* What the link /proc/PID/NAME says, without " (deleted)"; false: nothing to be had. */
bool procfs_link(pid_t pid, const char *name, char *to, size_t size);

/*
 * Calls take() for each number that names an entry of a directory such as /proc or /proc/PID/task.
 * Returns 0 or a negative errno.
 */
int procfs_each_number(const char *path, void (*take)(void *context, pid_t number), void *context);

/*
 * Ticks since boot as nanoseconds of CLOCK_MONOTONIC. The two clocks part by the time that the
 * machine has slept; what it slept after those ticks cannot be told apart, so the result is too
 * early by that much. The same ticks are the same time, until the machine sleeps. Never 0.
 */
uint64_t procfs_ticks_to_ns(uint64_t ticks);

/* CLOCK_MONOTONIC now, ns. */
uint64_t procfs_now(void);

#endif
