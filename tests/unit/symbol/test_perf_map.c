// SPDX-License-Identifier: Apache-2.0
/* Perf maps, most of them written by someone who means harm. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/batch.h"
#include "symbol/perf_map.h"

/* A process whose map is asked for: it sleeps until it is killed. */
struct sleeper {
	pid_t pid;
	char path[64]; /* of its map, for us */
	char answer[5000];
	int err;
	struct fail why;
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
	kill(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
	free(s);
	return 0;
}

static void take(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	struct sleeper *s = context;

	assert_int_equal(index, 0);
	assert_int_equal(count, 1);
	assert_null(names[0].file);
	snprintf(s->answer, sizeof(s->answer), "%s", names[0].function);
}

static const char *ask(struct sleeper *s, uint64_t address)
{
	s->answer[0] = 0;
	s->why = (struct fail){0};
	s->err = symbols_of_perf_map(NULL, s->pid, &address, 1, take, s, &s->why);
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
		     "3010 8 _ZN2ns1fIiEEvc\n"
		     "ffffffffffff0000 fff last");
	assert_string_equal(ask(s, 0x1000), "LazyCompile:~add file.js:3");
	assert_string_equal(ask(s, 0x100f), "LazyCompile:~add file.js:3");
	assert_string_equal(ask(s, 0x1010), "");
	assert_int_equal(s->err, 0);
	assert_string_equal(ask(s, 0x2010), "java.lang.String::hashCode");
	assert_string_equal(ask(s, 0x3001), "py::load:/usr/a b.py");
	assert_string_equal(ask(s, 0x3011), "ns::f<int>(char)");
	assert_string_equal(ask(s, 0xffffffffffff0ffe), "last");
}

/* Code is compiled again where other code was: what was written last is what is there. */
static void overlapping(void **state)
{
	struct sleeper *s = *state;

	write_map(s, "1000 100 old\n1080 10 newer\n1000 40 newest\n");
	assert_string_equal(ask(s, 0x1000), "newest");
	assert_string_equal(ask(s, 0x1040), "old");
	assert_string_equal(ask(s, 0x1085), "newer");
	assert_string_equal(ask(s, 0x1090), "old");
}

static void broken_lines(void **state)
{
	struct sleeper *s = *state;
	FILE *f = fopen(s->path, "we");

	assert_non_null(f);
	fputs("\n \nx\n1000\n1000 10\n1000 10 \nzz 10 name\n"
	      "1000 0 empty\nfffffffffffffff0 20 wraps\n"
	      "11111111111111111111 10 long\n1000 -1 negative\n"
	      "2000 10 esc\x1b[31mred\x07\n"
	      "3000 10 ",
	      f);
	for (int i = 0; i < 100000; i++)
		fputc('a', f);
	fputs("\n4000 10 after\n5000 10 no newline", f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_string_equal(ask(s, 0xfffffffffffffff4), "");
	/* names may hold any byte: who prints them escapes them */
	assert_string_equal(ask(s, 0x2000), "esc\x1b[31mred\x07");
	assert_int_equal(strlen(ask(s, 0x3000)), 4096 + 3);
	assert_string_equal(ask(s, 0x4000), "after");
	assert_string_equal(ask(s, 0x5000), "no newline");
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

static void too_large(void **state)
{
	struct sleeper *s = *state;

	write_map(s, "1000 10 big\n");
	assert_int_equal(truncate(s->path, (off_t)300 << 20), 0);
	assert_string_equal(ask(s, 0x1000), "");
	assert_int_equal(s->err, -EFBIG);
}

/* A map of 64 MB whose lines all hold all that is asked for. */
static void made_to_waste_time(void **state)
{
	uint64_t addresses[1000];
	struct batch batch;
	char path[] = "/tmp/stackcam-map-XXXXXX";
	int fd = mkstemp(path);
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	f = fdopen(fd, "w+");
	assert_non_null(f);
	for (size_t i = 0; i < 1000000; i++)
		fputs("0 ffffffffffff a\n", f);
	fflush(f);
	rewind(f);
	for (size_t i = 0; i < 1000; i++)
		addresses[i] = i;
	assert_int_equal(batch_make(&batch, addresses, 1000), 0);
	assert_int_equal(perf_map_read(fileno(f), &batch), -E2BIG);
	batch_free(&batch);
	fclose(f);
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

/* Of a process that has ended, nobody can tell the user: root's map is taken, another one's is not. */
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
	char command[512];

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
		cmocka_unit_test_setup_teardown(overlapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(broken_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_regular_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_owner, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_large, set_up, tear_down),
		cmocka_unit_test(made_to_waste_time),
		cmocka_unit_test_setup_teardown(no_process, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ended_process, set_up, tear_down),
		cmocka_unit_test(contained),
	};

	return cmocka_run_group_tests_name("symbol-perf-map", tests, NULL, NULL);
}
