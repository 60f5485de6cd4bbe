// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "process/procfs.h"

static bool parse(const char *text, char *line, struct procfs_mapping *m)
{
	strcpy(line, text);
	return procfs_parse_mapping(line, m);
}

static void mapping_of_a_file(void **state)
{
	struct procfs_mapping m;
	char line[512];

	(void)state;
	assert_true(
		parse("7f9328059000-7f93281af000 r-xp 00026000 fe:10 332835                     "
		      "/usr/lib/x86_64-linux-gnu/libc.so.6\n",
		      line, &m));
	assert_int_equal(m.start, 0x7f9328059000);
	assert_int_equal(m.end, 0x7f93281af000);
	assert_int_equal(m.offset, 0x26000);
	assert_int_equal(m.device, makedev(0xfe, 0x10));
	assert_int_equal(m.inode, 332835);
	assert_true(m.executable);
	assert_string_equal(m.path, "/usr/lib/x86_64-linux-gnu/libc.so.6");
}

static void mapping_without_a_path(void **state)
{
	struct procfs_mapping m;
	char line[512];

	(void)state;
	assert_true(parse("7f9328208000-7f9328215000 rw-p 00000000 00:00 0 ", line, &m));
	assert_false(m.executable);
	assert_string_equal(m.path, "");
	assert_true(parse("7f9328208000-7f9328215000 rwxp 00000000 00:00 0\n", line, &m));
	assert_true(m.executable);
	assert_string_equal(m.path, "");
	assert_true(
		parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		      "[vsyscall]\n",
		      line, &m));
	assert_int_equal(m.end, 0xffffffffff601000);
	assert_string_equal(m.path, "[vsyscall]");
}

static void mapping_with_a_strange_path(void **state)
{
	struct procfs_mapping m;
	char line[512];

	(void)state;
	assert_true(
		parse("1000-2000 r-xp 00000000 00:01 7 /tmp/a b\\012c\\d (deleted)\n", line, &m));
	assert_string_equal(m.path, "/tmp/a b\nc\\d");
	assert_true(parse("1000-2000 r-xs 00000000 00:01 2050 /memfd:doublemapper (deleted)\n",
			  line, &m));
	assert_string_equal(m.path, "/memfd:doublemapper");
	assert_true(parse("1000-2000 r-xp 00000000 00:01 7  (deleted)\n", line, &m));
}

static void what_is_no_mapping(void **state)
{
	static const char *const bad[] = {
		"",
		"\n",
		"-",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"1000-2000 r-xp ",
		"1000-2000 r-xp 0 fe",
		"1000-2000 r-xp 0 fe:",
		"1000-2000 r-xp 0 fe:00",
		"1000-2000 r-xp 0 fe:00 ",
		"1000-2000 r-xp 0 fe:00 12a /x",
		"1000-2000 r-xp 0 fffffffff:00 12 /x",
		"2000-1000 r-xp 0 fe:00 12 /x",
		"1000-1000 r-xp 0 fe:00 12 /x",
		"11111111111111111-11111111111111112 r-xp 0 fe:00 12 /x",
		"1000-2000 r-xp 0 fe:00 99999999999999999999 /x",
		"1000 2000 r-xp 0 fe:00 12 /x",
	};
	struct procfs_mapping m;
	char line[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parse(bad[i], line, &m));
}

static void stat_with_any_name(void **state)
{
	struct procfs_stat stat;

	(void)state;
	assert_true(procfs_parse_stat(
		"4321 (a) R (b) S 17 4321 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 12 0 987654 1 2 3\n",
		&stat));
	assert_int_equal(stat.pid, 4321);
	assert_int_equal(stat.parent, 17);
	assert_string_equal(stat.comm, "a) R (b");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.threads, 12);
	assert_int_equal(stat.start_ticks, 987654);
	assert_true(
		procfs_parse_stat("9 (kworker/u4:2-events_unbound) I 2 0 0 0 -1 0 0 0 0 0 0 0 0 "
				  "0 20 0 1 0 33 0 0",
				  &stat));
	assert_string_equal(stat.comm, "kworker/u4:2-ev");
	assert_true(
		procfs_parse_stat("9 () I 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 33 0 0", &stat));
	assert_string_equal(stat.comm, "");
}

static void what_is_no_stat(void **state)
{
	struct procfs_stat stat;

	(void)state;
	assert_false(procfs_parse_stat("", &stat));
	assert_false(procfs_parse_stat("1", &stat));
	assert_false(procfs_parse_stat("1 (", &stat));
	assert_false(procfs_parse_stat("1 )x( R 1 2 3", &stat));
	assert_false(procfs_parse_stat("1 (x)", &stat));
	assert_false(procfs_parse_stat("1 (x) R 1 1 1 1", &stat));
	assert_false(procfs_parse_stat("x (x) R 2 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 33", &stat));
}

static void thread_group(void **state)
{
	(void)state;
	assert_int_equal(procfs_parse_tgid("Name:\tcat\nUmask:\t0022\nTgid:\t6124\nPid:\t6125\n"),
			 6124);
	/* a line end in the name is escaped by the kernel */
	assert_int_equal(procfs_parse_tgid("Name:\ta\\nTgid: 1\nTgid:\t5\n"), 5);
	assert_int_equal(procfs_parse_tgid("Name:\tx\n"), 0);
	assert_int_equal(procfs_parse_tgid(""), 0);
}

static void tracer(void **state)
{
	static const char stopped_text[] = "Name:\tcat\nState:\tt (tracing stop)\nTracerPid:\t77\n";
	static const char running_text[] = "Name:\tcat\nState:\tS (sleeping)\nTracerPid:\t0\n";
	bool stopped = true;

	(void)state;
	assert_int_equal(procfs_parse_tracer(running_text, &stopped), 0);
	assert_false(stopped);
	assert_int_equal(procfs_parse_tracer(stopped_text, &stopped), 77);
	assert_true(stopped);
	assert_int_equal(procfs_parse_tracer("Name:\ta\\nTracerPid: 1\nTracerPid:\t5\n", &stopped),
			 5);
	assert_false(stopped);
	assert_int_equal(procfs_parse_tracer("Name:\tx\nTracerPid:\t-3\n", &stopped), 0);
	assert_int_equal(procfs_parse_tracer("", &stopped), 0);
}

static const char *choose(const char *text)
{
	static char copy[1024];

	strcpy(copy, text);
	return procfs_choose_cgroup(copy);
}

static void cgroups(void **state)
{
	(void)state;
	assert_string_equal(choose("0::/user.slice/session-1.scope\n"),
			    "/user.slice/session-1.scope");
	assert_string_equal(choose("5:memory:/a/long/one\n1:name=systemd:/init.scope\n0::/v2\n"),
			    "/v2");
	assert_string_equal(choose("5:memory:/a/long/one\n1:cpu,cpuacct:/\n0::/\n"), "/a/long/one");
	assert_string_equal(choose("0::/\n"), "/");
	assert_string_equal(choose("3:cpu:/\n0::/\n"), "/");
	assert_string_equal(choose("0::/a:b::c (deleted)\n"), "/a:b::c");
	assert_string_equal(choose(""), "");
	assert_string_equal(choose("\n:\n::\n:::\n0:\n0::x"), "");
}

static void arguments(void **state)
{
	char one[] = "./work\0--fast\0two words\0";
	char title[] = "nginx: master\0\0\0\0\0";
	char none[] = "";

	(void)state;
	procfs_join_arguments(one, sizeof(one) - 1);
	assert_string_equal(one, "./work --fast two words");
	procfs_join_arguments(title, sizeof(title) - 1);
	assert_string_equal(title, "nginx: master");
	procfs_join_arguments(none, 0);
	assert_string_equal(none, "");
}

static void reading(void **state)
{
	struct procfs_stat stat;
	struct buf text = {0};
	char exe[256];

	(void)state;
	assert_int_equal(procfs_read(getpid(), "stat", 4096, &text), 0);
	assert_true(procfs_parse_stat((char *)text.at, &stat));
	assert_int_equal(stat.pid, getpid());
	assert_int_equal(stat.parent, getppid());
	assert_true(procfs_ticks_to_ns(stat.start_ticks) <= procfs_now());
	for (int i = 0; i < 1000; i++)
		assert_int_equal(procfs_ticks_to_ns(stat.start_ticks),
				 procfs_ticks_to_ns(stat.start_ticks));
	assert_int_equal(procfs_read(getpid(), "maps", 100, &text), -EFBIG);
	assert_int_equal(text.count, 101);
	assert_int_equal(strlen((char *)text.at), 100);
	assert_int_equal(procfs_read(5000000, "stat", 4096, &text), -ESRCH);
	assert_string_equal((char *)text.at, "");
	buf_free(&text);
	assert_true(procfs_link(getpid(), "exe", exe, sizeof(exe)));
	assert_non_null(strstr(exe, "test-process-procfs"));
	assert_false(procfs_link(5000000, "exe", exe, sizeof(exe)));
	assert_string_equal(exe, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mapping_of_a_file),
		cmocka_unit_test(mapping_without_a_path),
		cmocka_unit_test(mapping_with_a_strange_path),
		cmocka_unit_test(what_is_no_mapping),
		cmocka_unit_test(stat_with_any_name),
		cmocka_unit_test(what_is_no_stat),
		cmocka_unit_test(thread_group),
		cmocka_unit_test(tracer),
		cmocka_unit_test(cgroups),
		cmocka_unit_test(arguments),
		cmocka_unit_test(reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
