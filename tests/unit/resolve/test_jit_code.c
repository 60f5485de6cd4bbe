// SPDX-License-Identifier: Apache-2.0
/*
 * Which files are believed when a process's own code is named: most were written by someone who
 * means harm.
 */

#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "resolve/jit_code.h"

/* A process whose map is asked for: it sleeps until it is killed. */
struct sleeper {
	pid_t pid;
	char path[64]; /* of its map, for us */
	char answer[8192];
	int err;
	struct fail why;
	struct jit_code *code; /* null: a new one for each question */
};

static int set_up(void **state)
{
	struct sleeper *s = calloc(1, sizeof(*s));

	if (!s)
		return -1;
	s->pid = fork();
	if (!s->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	snprintf(s->path, sizeof(s->path), "/tmp/perf-%d.map", (int)s->pid);
	unlink(s->path);
	*state = s;
	return s->pid < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct sleeper *s = *state;

	unlink(s->path);
	rmdir(s->path);
	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	free(s);
	return 0;
}

static const char *ask(struct sleeper *s, uint64_t address)
{
	struct jit_code *code = s->code ? s->code : jit_code_new(s->pid, NULL);
	struct code_question question = {.address = address, .time = clock_ns()};
	static struct code_name name;
	bool more;

	assert_non_null(code);
	s->answer[0] = 0;
	s->why = (struct fail){0};
	s->err = jit_code_read(code, true, &more, &s->why);
	assert_int_equal(jit_code_find(code, &question, 1), 0);
	if (question.answer.size && jit_code_name(code, &question, &name))
		snprintf(s->answer, sizeof(s->answer), "%s", name.function);
	if (code != s->code)
		jit_code_free(code);
	return s->answer;
}

static void write_map(struct sleeper *s, const char *text)
{
	FILE *f = fopen(s->path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void good(void **state)
{
	struct sleeper *s = *state;

	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -ENOENT);
	write_map(s, "1000 10 LazyCompile:~add file.js:3\n"
		     "2000 20 java.lang.String::hashCode\n"
		     "3000 10 py::load:/usr/a b.py\n"
		     "ffffffffffff0000 fff last");
	assert_string_equal(ask(s, 0x1000), "LazyCompile:~add file.js:3");
	assert_string_equal(ask(s, 0x100f), "LazyCompile:~add file.js:3");
	assert_string_equal(ask(s, 0x1010), "");
	assert_int_equal(s->err, 0);
	assert_string_equal(ask(s, 0x2010), "java.lang.String::hashCode");
	assert_string_equal(ask(s, 0x3001), "py::load:/usr/a b.py");
	assert_string_equal(ask(s, 0xffffffffffff0ffe), "last");
}

static void no_regular_file(void **state)
{
	struct sleeper *s = *state;

	assert_int_equal(symlink("/etc/passwd", s->path), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
	assert_non_null(strstr(s->why.what, "not a regular file"));
	unlink(s->path);

	assert_int_equal(mkfifo(s->path, 0600), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
	unlink(s->path);

	assert_int_equal(mkdir(s->path, 0700), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
}

static void wrong_owner(void **state)
{
	struct sleeper *s = *state;

	if (geteuid())
		skip();
	write_map(s, "1000 10 trap\n");
	assert_string_equal(ask(s, 0x1000), "trap");
	assert_int_equal(chown(s->path, 1234, 1234), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
	assert_non_null(strstr(s->why.what, "belongs to user 1234"));
}

/* Only the newest part is read, and the rest is counted. */
static void too_large(void **state)
{
	struct sleeper *s = *state;

	write_map(s, "1000 10 big\n");
	assert_int_equal(truncate(s->path, (off_t)300 << 20), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, 0);
}

/* The process takes the way to its files with it; what was opened before can be read on. */
static void kept_open(void **state)
{
	struct sleeper *s = *state;

	write_map(s, "1000 10 early\n");
	s->code = jit_code_new(s->pid, NULL);
	assert_non_null(s->code);
	write_map(s, "1000 10 early\n2000 10 at the end\n");
	kill(s->pid, SIGKILL);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	s->pid = 0;
	unlink(s->path);
	assert_string_equal(ask(s, 0x1000), "early");
	assert_string_equal(ask(s, 0x2000), "at the end");
	assert_int_equal(s->err, 0);
	jit_code_free(s->code);
	s->code = NULL;
}

static void another_file(void **state)
{
	struct sleeper *s = *state;
	char old[64];

	snprintf(old, sizeof(old), "/tmp/stackcam-map-%d", (int)getpid());
	s->code = jit_code_new(s->pid, NULL);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -ENOENT);
	write_map(s, "1000 10 one\n2000 10 two\n");
	assert_string_equal(ask(s, 0x1000), "one");
	/* a link that keeps the inode from being used again */
	assert_int_equal(rename(s->path, old), 0);
	write_map(s, "1000 10 other\n");
	assert_string_equal(ask(s, 0x1000), "other");
	assert_string_equal(ask(s, 0x2000), "");
	unlink(old);
	jit_code_free(s->code);
	s->code = NULL;
}

/* A map stays when its process ends, and numbers of processes are used again. */
static void of_an_earlier_process(void **state)
{
	struct timespec times[2];
	struct sleeper *s = *state;

	write_map(s, "1000 10 stale\n");
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[0]), 0);
	times[0].tv_sec -= 10;
	times[1] = times[0];
	assert_int_equal(utimensat(AT_FDCWD, s->path, times, 0), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -ESTALE);
	assert_non_null(strstr(s->why.what, "an earlier process"));
	/* the process itself has written to it now */
	write_map(s, "1000 10 fresh\n");
	assert_string_equal(ask(s, 0x1000), "fresh");
}

static void put_u32(FILE *f, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

static void put_u64(FILE *f, uint64_t value)
{
	fwrite(&value, sizeof(value), 1, f);
}

/* A jitdump that tells of one function, loaded at time at 0x1000. */
static void write_dump(FILE *f, uint32_t pid, uint64_t time, const char *name)
{
	put_u32(f, 0x4a695444);
	put_u32(f, 1);
	put_u32(f, 40);
	put_u32(f, 62);
	put_u32(f, 0);
	put_u32(f, pid);
	put_u64(f, time);
	put_u64(f, 0);
	put_u32(f, 0);
	put_u32(f, (uint32_t)(16 + 40 + strlen(name) + 1));
	put_u64(f, time);
	put_u32(f, pid);
	put_u32(f, pid);
	put_u64(f, 0x1000);
	put_u64(f, 0x1000);
	put_u64(f, 0x10);
	put_u64(f, 1);
	fwrite(name, strlen(name) + 1, 1, f);
	fflush(f);
}

/* In place of the sleeper, one that has mapped a jitdump of that name. */
static void start_with_dump(struct sleeper *s, const char *path)
{
	int ends[2];
	char ready = 0;

	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	assert_int_equal(pipe(ends), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		FILE *f = fopen(path, "we+");
		void *at = MAP_FAILED;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (f) {
			write_dump(f, (uint32_t)getpid(), clock_ns(), "dump foo");
			at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
		}
		ready = at != MAP_FAILED;
		if (write(ends[1], &ready, 1) != 1 || !ready)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &ready, 1), 1);
	close(ends[0]);
	assert_true(ready);
}

static void dump(void **state)
{
	struct sleeper *s = *state;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	start_with_dump(s, path);
	snprintf(s->path, sizeof(s->path), "/tmp/perf-%d.map", (int)s->pid);
	assert_string_equal(ask(s, 0x1008), "dump foo");
	assert_int_equal(s->err, 0);
	/* it is asked before a map, and what it does not know is asked of the map */
	write_map(s, "1000 10 map\n2000 10 only the map\n");
	assert_string_equal(ask(s, 0x1008), "dump foo");
	assert_string_equal(ask(s, 0x2000), "only the map");
	unlink(path);

	/* a file with another name is not a jitdump */
	snprintf(path, sizeof(path), "/tmp/jit-%d.dumps", (int)getpid());
	unlink(s->path);
	start_with_dump(s, path);
	assert_string_equal(ask(s, 0x1008), "");
	assert_int_equal(s->err, -ENOENT);
	unlink(path);
}

static void dump_of_another_user(void **state)
{
	struct sleeper *s = *state;
	char path[64];

	if (geteuid())
		skip();
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", (int)getpid());
	start_with_dump(s, path);
	assert_string_equal(ask(s, 0x1000), "dump foo");
	assert_int_equal(chown(path, 1234, 1234), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
	unlink(path);
}

static void no_process(void **state)
{
	struct sleeper *s = *state;
	pid_t pid = s->pid;

	s->pid = 0x7ffffff0;
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -ENOENT);
	s->pid = pid;
}

/*
 * The user of a process that has ended is not known: root's map is taken, another one's is not.
 */
static void ended_process(void **state)
{
	struct sleeper *s = *state;
	pid_t living = s->pid;
	char path[48];
	FILE *map;

	if (geteuid())
		skip();
	s->pid = fork();
	if (!s->pid)
		_exit(0);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)s->pid);
	map = fopen(path, "wx");
	assert_non_null(map);
	fputs("1000 10 late\n", map);
	fclose(map);
	assert_string_equal(ask(s, 0x1000), "late");
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EPERM);
	unlink(path);
	s->pid = living;
}

/*
 * A process with a root and a pid of its own, as in a container: pid 1 there writes
 * /tmp/perf-1.map, and links of its root lead nowhere else.
 */
struct contained {
	struct sleeper s;
	char root[64];
};

/* The innermost process; it has nothing but its root. */
static _Noreturn void live_in(const char *root)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chroot(root) || chdir("/"))
		_exit(1);
	for (;;)
		pause();
}

static void start_contained(struct contained *c)
{
	int ends[2];
	pid_t outer;

	strcpy(c->root, "/var/tmp/stackcam-root-XXXXXX");
	assert_non_null(mkdtemp(c->root));
	assert_int_equal(pipe(ends), 0);
	outer = fork();
	assert_true(outer >= 0);
	if (!outer) {
		pid_t inner;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWPID))
			_exit(1);
		inner = fork();
		if (!inner)
			live_in(c->root);
		if (inner < 0 || write(ends[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(1);
		waitpid(inner, NULL, 0);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &c->s.pid, sizeof(c->s.pid)) != sizeof(c->s.pid))
		c->s.pid = 0;
	close(ends[0]);
}

/* Until its root is the one it was given. */
static void wait_for_root(const struct contained *c)
{
	char path[64], root[128];
	ssize_t n = 0;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)c->s.pid);
	for (int i = 0; i < 1000; i++) {
		n = readlink(path, root, sizeof(root) - 1);
		root[n > 0 ? n : 0] = 0;
		if (!strcmp(root, c->root))
			return;
		usleep(1000);
	}
	_fail(__FILE__, __LINE__);
}

static void contained(void **state)
{
	struct contained c = {0};
	char command[640];

	(void)state;
	if (geteuid())
		skip();
	start_contained(&c);
	if (c.s.pid <= 0)
		skip();
	wait_for_root(&c);
	snprintf(command, sizeof(command),
		 "mkdir -p %s/tmp && echo '1000 10 inside' > %s/tmp/perf-1.map", c.root, c.root);
	assert_int_equal(system(command), 0);
	assert_string_equal(ask(&c.s, 0x1000), "inside");

	/* /tmp of the root as a link to a directory outside, in which there is a perf-1.map, too */
	snprintf(command, sizeof(command),
		 "echo '1000 10 outside' > %s.map && rm -r %s/tmp && "
		 "mkdir -p %s.d && mv %s.map %s.d/perf-1.map && ln -s ../../../../..%s.d %s/tmp",
		 c.root, c.root, c.root, c.root, c.root, c.root, c.root);
	assert_int_equal(system(command), 0);
	assert_string_equal(ask(&c.s, 0x1000), "");
	assert_int_equal(c.s.err, -ENOENT);
	kill(c.s.pid, SIGKILL);
	while (wait(NULL) > 0)
		;
	snprintf(command, sizeof(command), "rm -rf %s %s.d", c.root, c.root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(good, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_regular_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_owner, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_large, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kept_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_an_earlier_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dump, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dump_of_another_user, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_process, set_up, tear_down),
		cmocka_unit_test(contained),
	};

	return cmocka_run_group_tests_name("camera-jit-code", tests, NULL, NULL);
}
