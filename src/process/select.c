// SPDX-License-Identifier: Apache-2.0
#include "process/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "base/vec.h"
#include "process/cgroups.h"
#include "process/procfs.h"

#define STATUS_BYTES_MAX (64 * 1024)
#define LINK_BYTES_MAX	 4096

/* How far those that made a process are looked for. */
#define ANCESTORS_MAX 64

/* The inode of the machine's first cgroup namespace is the same on every machine. */
#define FIRST_CGROUP_NAMESPACE "cgroup:[4026531835]"

static int add_number(pid_t **numbers, size_t *count, pid_t number)
{
	pid_t *more;

	for (size_t i = 0; i < *count; i++)
		if ((*numbers)[i] == number)
			return 0;
	more = realloc(*numbers, (*count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	more[(*count)++] = number;
	*numbers = more;
	return 0;
}

static int add_numbers(pid_t **numbers, size_t *count, const char *list, const char *option,
		       struct fail *why)
{
	const char *at = list;

	for (;;) {
		size_t length = strcspn(at, ",");
		char number[16];
		uint64_t value;

		snprintf(number, sizeof(number), "%.*s", (int)(length < 16 ? length : 16), at);
		if (text_parse_u64(number, 1, INT_MAX, &value))
			return fail(why, -EINVAL, "give numbers separated by commas",
				    "'%s' is not a list for %s", list, option);
		if (add_number(numbers, count, (pid_t)value))
			return fail_errno(why, -ENOMEM, NULL, "cannot take %s", option);
		at += length;
		if (!*at++)
			return 0;
	}
}

int selection_add_pids(struct selection *s, const char *list, struct fail *why)
{
	return add_numbers(&s->pids, &s->pid_count, list, "-p", why);
}

int selection_add_tids(struct selection *s, const char *list, struct fail *why)
{
	return add_numbers(&s->tids, &s->tid_count, list, "-t", why);
}

static int add_text(char ***texts, size_t *count, const char *text, const char *option,
		    struct fail *why)
{
	char *copy, **more;

	if (!*text)
		return fail(why, -EINVAL, NULL, "%s wants a name", option);
	copy = strdup(text);
	more = copy ? realloc(*texts, (*count + 1) * sizeof(*more)) : NULL;
	if (!more) {
		free(copy);
		return fail_errno(why, -ENOMEM, NULL, "cannot take %s", option);
	}
	more[(*count)++] = copy;
	*texts = more;
	return 0;
}

int selection_add_name(struct selection *s, const char *glob, struct fail *why)
{
	return add_text(&s->names, &s->name_count, glob, "-n", why);
}

int selection_add_cgroup(struct selection *s, const char *path, struct fail *why)
{
	return add_text(&s->cgroups, &s->cgroup_count, path, "--cgroup", why);
}

/* The process that a thread belongs to; 0: there is no such thread. */
static pid_t process_of(pid_t tid)
{
	struct buf text = {0};
	pid_t pid = 0;

	if (!procfs_read(tid, "status", STATUS_BYTES_MAX, &text))
		pid = procfs_parse_tgid((char *)text.at);
	buf_free(&text);
	return pid;
}

/* Descriptors say which processes were meant, when their numbers are those of others. */
static int open_pids(struct selection *s)
{
	if (s->pidfds || !s->pid_count)
		return 0;
	s->pidfds = calloc(s->pid_count, sizeof(*s->pidfds));
	if (!s->pidfds)
		return -ENOMEM;
	for (size_t i = 0; i < s->pid_count; i++)
		s->pidfds[i] = (int)syscall(SYS_pidfd_open, s->pids[i], 0);
	return 0;
}

static int check_numbers(struct selection *s, struct fail *why)
{
	if (open_pids(s))
		return fail_errno(why, -ENOMEM, NULL, "cannot name processes");
	for (size_t i = 0; i < s->pid_count; i++) {
		pid_t pid = process_of(s->pids[i]);

		if (!pid)
			return fail(why, -ESRCH, NULL, "there is no process %d", (int)s->pids[i]);
		if (pid != s->pids[i])
			return fail(why, -EINVAL, "name the process with -p, or the thread with -t",
				    "%d is a thread of process %d", (int)s->pids[i], (int)pid);
	}
	for (size_t i = 0; i < s->tid_count; i++)
		if (!process_of(s->tids[i]))
			return fail(why, -ESRCH, NULL, "there is no thread %d", (int)s->tids[i]);
	return 0;
}

static int find_cgroups(struct selection *s, struct fail *why)
{
	cgroup_places_free(s->places, s->place_count);
	s->places = NULL;
	s->place_count = 0;
	for (size_t i = 0; i < s->cgroup_count; i++) {
		int err = cgroup_resolve(s->cgroups[i], &s->places, &s->place_count);

		if (err == -ENOENT)
			return fail(why, err,
				    "give its path below the cgroup file system, as in "
				    "/proc/PID/cgroup",
				    "there is no control group '%s'", s->cgroups[i]);
		if (err)
			return fail_errno(why, err, NULL, "cannot find control group '%s'",
					  s->cgroups[i]);
	}
	return 0;
}

int selection_check(struct selection *s, struct fail *why)
{
	bool named = s->pid_count || s->tid_count || s->name_count || s->cgroup_count;
	int err;

	if (s->whole_machine && named)
		return fail(
			why, -EINVAL, "leave out one of them",
			"-a films the whole machine: -p, -t, -n and --cgroup mean nothing then");
	if (s->tid_count && (s->pid_count || s->name_count || s->cgroup_count))
		return fail(why, -EINVAL, "leave out one of them",
			    "-t films single threads: -p, -n and --cgroup name whole processes");
	if (named && s->command) {
		s->beside = s->command;
		s->command = NULL;
	}
	if (!named && !s->command)
		s->whole_machine = true;
	if (s->whole_machine && s->no_children)
		return fail(why, -EINVAL, "name what to film, or leave it out",
			    "--no-children means nothing for the whole machine");
	err = check_numbers(s, why);
	return err ? err : find_cgroups(s, why);
}

bool selection_wants_name(const struct selection *s, const char *name)
{
	for (size_t i = 0; i < s->name_count; i++)
		if (!fnmatch(s->names[i], name, 0))
			return true;
	return false;
}

static bool wants_by_name(const struct selection *s, pid_t pid)
{
	char exe[LINK_BYTES_MAX];
	struct procfs_stat stat;
	const char *base;

	if (procfs_read_stat(pid, "stat", &stat) && selection_wants_name(s, stat.comm))
		return true;
	if (!procfs_link(pid, "exe", exe, sizeof(exe)))
		return false;
	base = strrchr(exe, '/');
	return selection_wants_name(s, base ? base + 1 : exe);
}

struct search_name {
	struct selection one; /* of that name alone */
	bool found;
};

static void try_process(void *context, pid_t pid)
{
	struct search_name *search = context;

	search->found = search->found || (pid != getpid() && wants_by_name(&search->one, pid));
}

bool selection_name_runs(const struct selection *s, size_t place)
{
	struct search_name search = {.one = {.names = s->names + place, .name_count = 1}};

	/* where /proc cannot be read, nothing is known to be missing */
	return procfs_each_number("/proc", try_process, &search) || search.found;
}

bool selection_wants(const struct selection *s, pid_t pid)
{
	struct buf text = {0};
	bool wanted = s->name_count && wants_by_name(s, pid);

	for (size_t i = 0; i < s->place_count && !wanted; i++)
		wanted = !procfs_read(pid, "cgroup", STATUS_BYTES_MAX, &text) &&
			 cgroup_holds(&s->places[i], (char *)text.at);
	buf_free(&text);
	return wanted;
}

static bool is_listed(const struct selection *s, pid_t pid)
{
	for (size_t i = 0; i < s->pid_count; i++)
		if (s->pids[i] == pid)
			return true;
	return false;
}

static bool comes_from_listed(const struct selection *s, pid_t pid)
{
	struct procfs_stat stat;

	for (int i = 0; s->pid_count && i < ANCESTORS_MAX && pid > 0; i++) {
		if (is_listed(s, pid))
			return true;
		if (s->no_children || !procfs_read_stat(pid, "stat", &stat))
			return false;
		pid = stat.parent;
	}
	return false;
}

static bool has_listed_thread(const struct selection *s, pid_t pid)
{
	char path[64];

	for (size_t i = 0; i < s->tid_count; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pid, (int)s->tids[i]);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

bool selection_means(const struct selection *s, pid_t pid)
{
	return s->whole_machine || comes_from_listed(s, pid) || has_listed_thread(s, pid) ||
	       selection_wants(s, pid);
}

static int level_of(const char *path)
{
	int level = 0;

	for (; *path; path++)
		level += path[0] == '/' && path[1] && path[1] != '/';
	return level;
}

int selection_cgroup_v2_ids(const struct selection *s, struct selection_cgroup *groups, size_t max)
{
	char namespace[64];
	int count = 0;

	if (!procfs_link(getpid(), "ns/cgroup", namespace, sizeof(namespace)) ||
	    strcmp(namespace, FIRST_CGROUP_NAMESPACE))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < s->place_count; i++) {
		if (!s->places[i].v2)
			return -EOPNOTSUPP;
		if ((size_t)count < max)
			groups[count] = (struct selection_cgroup){s->places[i].id,
								  level_of(s->places[i].path)};
		count++;
	}
	return count;
}

static void free_texts(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
}

void selection_free(struct selection *s)
{
	for (size_t i = 0; s->pidfds && i < s->pid_count; i++)
		if (s->pidfds[i] >= 0)
			close(s->pidfds[i]);
	free(s->pidfds);
	free(s->pids);
	free(s->tids);
	free_texts(s->names, s->name_count);
	free_texts(s->cgroups, s->cgroup_count);
	cgroup_places_free(s->places, s->place_count);
	*s = (struct selection){0};
}
