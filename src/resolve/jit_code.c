// SPDX-License-Identifier: Apache-2.0
#include "resolve/jit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbol/jitdump.h"
#include "symbol/lines.h"
#include "symbol/open_file.h"
#include "symbol/perf_map.h"
#include "process/image_open.h"
#include "process/images.h"
#include "process/procfs.h"

#define MAPS_LIMIT (16u << 20)

/* Clocks of files and of processes tick coarsely, and not together. */
#define CLOCKS_APART_NS 100000000ll

/* When a process began is known in ticks, cut (USER_HZ is 100 wherever this runs). */
#define NS_PER_TICK 10000000ull

/* A process that was gone before it was looked at has not lived for long. */
#define SHORT_LIFE_NS 60000000000ll

/*
 * Runtimes map their dump when they start. To look for it means to read all mappings of the
 * process: ever more seldom, as there is mostly none.
 */
#define LOOK_FIRST_NS 200000000ull
#define LOOK_LAST_NS  60000000000ull

struct owner {
	pid_t inner_pid; /* in the innermost namespace; 0: not known */
	uid_t users[4];	 /* real, effective, saved, file system */
	bool has_users;
};

struct jit_code {
	struct far_files *far;
	pid_t pid;
	bool seen;	      /* it lived when it was looked at */
	struct owner owner;   /* as it was then last */
	uint64_t began;	      /* ns of CLOCK_MONOTONIC; 0: not known */
	int64_t born;	      /* the same of CLOCK_REALTIME */
	int map_fd, dump_fd;  /* -1: none */
	struct stat map_file; /* what map_fd is */
	struct perf_map map;
	struct jitdump dump;
	uint64_t next_look, pause; /* when a dump is looked for again; 0: at once */
	int dump_err;		   /* of the last look */
};

static int parse_status_line(void *context, char *line)
{
	struct owner *owner = context;
	unsigned int u[4];
	const char *last;

	if (sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4) {
		for (int i = 0; i < 4; i++)
			owner->users[i] = u[i];
		owner->has_users = true;
	} else if (!strncmp(line, "NSpid:", 6)) {
		last = strrchr(line, '\t');
		owner->inner_pid = last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
	}
	return 0;
}

/* The process's identity; false: it is gone. */
static bool read_owner(pid_t pid, struct owner *owner)
{
	char path[48];
	int fd, err;

	*owner = (struct owner){0};
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	err = lines_of_fd(fd, 64u << 10, parse_status_line, owner);
	close(fd);
	return !err && owner->has_users && owner->inner_pid > 0;
}

static int64_t realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Looks whether it lives; what it was while it did is kept. */
static bool look(struct jit_code *code)
{
	struct procfs_stat stat;
	struct owner owner;

	if (!read_owner(code->pid, &owner) || !procfs_read_stat(code->pid, "stat", &stat))
		return false;
	code->began = procfs_ticks_to_ns(stat.start_ticks);
	code->born = realtime() - (int64_t)(clock_ns() - code->began);
	code->owner = owner;
	code->seen = true;
	return true;
}

/* Only the process itself, or root, may put names into a film. */
static bool is_trusted_owner(const struct jit_code *code, uid_t user)
{
	const struct owner *owner = &code->owner;

	for (size_t i = 0; code->seen && i < sizeof(owner->users) / sizeof(owner->users[0]); i++)
		if (owner->users[i] == user)
			return true;
	return user == 0;
}

static int check_owner(const struct jit_code *code, const struct stat *st, const char *path,
		       struct fail *why)
{
	if (is_trusted_owner(code, st->st_uid))
		return 0;
	return fail(why, -EPERM, NULL, "%s belongs to user %u, not to process %d or root: not read",
		    path, st->st_uid, (int)code->pid);
}

/* A map without a time stands for a number of a process: it must be of the one that has it now. */
static int check_age(const struct jit_code *code, const struct stat *st, const char *path,
		     struct fail *why)
{
	int64_t written = (int64_t)st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
	int64_t born = code->seen ? code->born - CLOCKS_APART_NS : realtime() - SHORT_LIFE_NS;

	if (written >= born)
		return 0;
	return fail(why, -ESTALE, NULL,
		    "%s is of an earlier process with the number of process %d: not read", path,
		    (int)code->pid);
}

static void close_map(struct jit_code *code)
{
	if (code->map_fd >= 0)
		close(code->map_fd);
	code->map_fd = -1;
	perf_map_free(&code->map);
	code->map = (struct perf_map){0};
}

/* Opens the perf map, if there is one, or another one than before. */
static int find_map(struct jit_code *code, bool lives, struct fail *why)
{
	pid_t inner = code->seen ? code->owner.inner_pid : code->pid;
	char root[32] = "", path[48];
	struct stat st;
	int fd, err;

	/* of one that has ended the root is not known, except if it was ours */
	if (!lives && code->seen)
		return 0;
	if (lives)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)code->pid);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)inner);
	fd = open_regular(code->far, root, path, false, &st);
	if (fd == -ELOOP || fd == -EINVAL)
		return fail(why, -EPERM, NULL, "%s of process %d is not a regular file: not read",
			    path, (int)code->pid);
	if (fd < 0)
		return fail_errno(why, fd, NULL, "%s of process %d", path, (int)code->pid);
	err = check_owner(code, &st, path, why);
	if (!err)
		err = check_age(code, &st, path, why);
	if (err || (code->map_fd >= 0 && st.st_dev == code->map_file.st_dev &&
		    st.st_ino == code->map_file.st_ino)) {
		close(fd);
		return err;
	}
	close_map(code);
	code->map_fd = fd;
	code->map_file = st;
	return 0;
}

/* "…/jit-123.dump" */
static bool is_dump_name(const char *path)
{
	const char *name = strrchr(path, '/');
	char *end;

	if (!name || strncmp(name, "/jit-", 5) || name[5] < '0' || name[5] > '9')
		return false;
	strtoul(name + 5, &end, 10);
	return !strcmp(end, ".dump");
}

static int open_dump(struct jit_code *code, const struct procfs_mapping *mapping, struct fail *why)
{
	struct image_question question = {
		.pid = code->pid,
		.start = mapping->start,
		.end = mapping->end,
		.device = mapping->device,
		.inode = mapping->inode,
		.path = mapping->path,
	};
	struct stat st;
	int fd = image_open(code->far, &question, &st), err;

	if (fd < 0)
		return fail_errno(why, fd, NULL, "%s of process %d", mapping->path, (int)code->pid);
	err = check_owner(code, &st, mapping->path, why);
	if (err) {
		close(fd);
		return err;
	}
	code->dump_fd = fd;
	code->dump.reader = (uint32_t)code->owner.inner_pid;
	code->dump.reader_began = code->began + NS_PER_TICK;
	return 0;
}

/* The runtime maps its dump executable so that it can be found. */
static int find_dump(struct jit_code *code, struct fail *why)
{
	struct procfs_mapping mapping;
	struct buf text = {0};
	char *line, *next;
	int err = procfs_read(code->pid, "maps", MAPS_LIMIT, &text);

	if (err && err != -EFBIG) {
		buf_free(&text);
		return fail_errno(why, err, NULL, "mappings of process %d", (int)code->pid);
	}
	err = -ENOENT;
	for (line = (char *)text.at; line && *line && code->dump_fd < 0; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		else
			next = strchr(line, 0);
		if (procfs_parse_mapping(line, &mapping) && mapping.executable &&
		    is_dump_name(mapping.path))
			err = open_dump(code, &mapping, why);
	}
	buf_free(&text);
	return err;
}

static void look_for_dump(struct jit_code *code, bool last, struct fail *why)
{
	uint64_t now = clock_ns();

	if (!last && now < code->next_look)
		return;
	code->dump_err = find_dump(code, why);
	code->pause = code->pause ? 2 * code->pause : LOOK_FIRST_NS;
	if (code->pause > LOOK_LAST_NS)
		code->pause = LOOK_LAST_NS;
	code->next_look = now + code->pause;
}

static int find_files(struct jit_code *code, bool last, struct fail *why)
{
	bool lives = look(code);
	int err = find_map(code, lives, why);

	if (lives && code->dump_fd < 0) {
		look_for_dump(code, last, why);
		if (code->dump_err && code->dump_err != -ENOENT)
			return code->dump_err;
	}
	return err == -ENOENT && code->dump_fd >= 0 ? 0 : err;
}

struct jit_code *jit_code_new(pid_t pid, struct far_files *far)
{
	struct jit_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	code->far = far;
	code->pid = pid;
	code->map_fd = code->dump_fd = -1;
	find_files(code, false, NULL);
	return code;
}

void jit_code_free(struct jit_code *code)
{
	if (!code)
		return;
	close_map(code);
	if (code->dump_fd >= 0)
		close(code->dump_fd);
	jitdump_free(&code->dump);
	free(code);
}

/* Differs when something was added. */
static uint64_t count_of(const struct jit_code *code)
{
	return code->map.read_to + code->dump.read_to;
}

int jit_code_read(struct jit_code *code, bool last, bool *more, struct fail *why)
{
	uint64_t known = count_of(code), now = clock_ns();
	int err = find_files(code, last, why), map_err = 0, dump_err = 0;

	if (code->map_fd >= 0)
		map_err = perf_map_read(&code->map, code->map_fd, now, last);
	if (map_err)
		err = fail_errno(why, map_err, NULL, "perf map of process %d", (int)code->pid);
	if (code->dump_fd >= 0)
		dump_err = jitdump_read(&code->dump, code->dump_fd, now);
	if (dump_err)
		err = fail_errno(why, dump_err, NULL, "jitdump of process %d", (int)code->pid);
	*more = count_of(code) != known;
	return err;
}

enum source {
	FROM_MAP,
	FROM_DUMP,
};

int jit_code_find(const struct jit_code *code, struct code_question *questions, size_t count)
{
	size_t answered = 0, i;
	/* a dump knows when, and of lines */
	int err = code_table_answer(&code->dump.code, questions, count);

	if (err)
		return err;
	for (i = 0; i < count; i++) {
		struct code_question q = questions[i];

		q.source = q.answer.size ? FROM_DUMP : FROM_MAP;
		questions[i] = questions[answered];
		if (q.answer.size)
			questions[answered++] = q;
		else
			questions[i] = q;
	}
	return code_table_answer(&code->map.code, questions + answered, count - answered);
}

bool jit_code_name(struct jit_code *code, const struct code_question *answered,
		   struct code_name *name)
{
	if (answered->source == FROM_DUMP)
		return jitdump_name(&code->dump, code->dump_fd, &answered->answer,
				    answered->address, name);
	return perf_map_name(code->map_fd, &answered->answer, name);
}

uint64_t jit_code_passed(const struct jit_code *code)
{
	return code->map.passed;
}

size_t jit_code_held(const struct jit_code *code)
{
	return code->map.code.entries.count + code->dump.code.entries.count;
}

void jit_code_forget(struct jit_code *code)
{
	if (code->map.code.entries.count > code->dump.code.entries.count)
		code_table_forget(&code->map.code);
	else
		jitdump_forget(&code->dump);
}

uint64_t jit_code_refused(const struct jit_code *code)
{
	return code->map.code.refused + code->dump.code.refused;
}
