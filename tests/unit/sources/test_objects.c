// SPDX-License-Identifier: Apache-2.0
/* What the kernel's side reads of files becomes words, with any names. */
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sources/sched/objects.h"

static const char *words_of(const struct object_report *told, size_t size)
{
	static char text[4096];
	struct buf words = {0};

	*text = 0;
	if (object_words(told, size, &words))
		snprintf(text, sizeof(text), "%s", (const char *)words.at);
	buf_free(&words);
	return text;
}

#define WORDS(...)  words_of(&(struct object_report){__VA_ARGS__}, sizeof(struct object_report))
#define NAMES(s, n) .text = s, .bytes = sizeof(s), .names = n

static void test_paths(void **state)
{
	const struct object_report path = {.descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 2)};

	(void)state;
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 2)),
			    "/data/wal");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_DIRECTORY), "/");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_FILE, NAMES("a\nb", 1), .is_deleted = 1),
			    "/a\nb (deleted)");
	assert_string_equal(
		WORDS(.descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 2), .is_cut = 1),
		".../data/wal");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_PIPE, NAMES("fifo\0tmp", 2)),
			    "/tmp/fifo");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_PIPE, .inode = 77), "pipe 77");
	/* damaged: more or fewer names than it says, a name that does not end, too few bytes */
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 1)), "");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 3)), "");
	assert_string_equal(
		WORDS(.descriptor = OFF_CPU_FD_FILE, .text = "wal", .bytes = 3, .names = 1), "");
	assert_string_equal(words_of(&path, offsetof(struct object_report, text) + 9), "/data/wal");
	assert_string_equal(words_of(&path, offsetof(struct object_report, text) + 8), "");
	assert_string_equal(words_of(&path, 8), "");
}

#define GIVEN(s, n, g) .descriptor = OFF_CPU_FD_PATH, NAMES(s, n), .given = g

static void test_given_paths(void **state)
{
	(void)state;
	assert_string_equal(WORDS(GIVEN("/data/wal", 0, 1)), "/data/wal");
	assert_string_equal(WORDS(GIVEN("wal\0data\0var", 2, 1)), "/var/data/wal");
	assert_string_equal(WORDS(GIVEN("wal", 0, 1)), "/wal");
	assert_string_equal(WORDS(GIVEN("wal\0data", 1, 1), .is_cut = 1, .given_cut = 1),
			    ".../data/wal...");
	assert_string_equal(WORDS(GIVEN("a\0b\0data", 1, 2)), "/data/a -> /data/b");
	assert_string_equal(WORDS(GIVEN("/a\0b\0data", 1, 2), .given_cut = 2), "/a -> /data/b...");
	assert_string_equal(WORDS(GIVEN("a\0/b\0data", 1, 2)), "/data/a -> /b");
	assert_string_equal(WORDS(GIVEN("a\0b\0data", 1, 2), .given_elsewhere = 1),
			    "/data/a -> .../b");
	/* damaged: none is given, or too many are, or names are missing */
	assert_string_equal(WORDS(GIVEN("wal", 0, 0)), "");
	assert_string_equal(WORDS(GIVEN("a\0b\0c", 0, 3)), "");
	assert_string_equal(WORDS(GIVEN("a", 0, 2)), "");
	assert_string_equal(WORDS(GIVEN("wal\0data", 2, 1)), "");
	assert_string_equal(
		WORDS(.descriptor = OFF_CPU_FD_PATH, .given = 1, .bytes = 3, .text = "wal"), "");
}

static void test_sockets(void **state)
{
	(void)state;
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_SOCKET, .family = AF_INET,
				  .type = SOCK_STREAM, .protocol = 6, .near = {127, 0, 0, 1},
				  .near_port = 80, .far = {10, 0, 0, 7}, .far_port = 4321),
			    "tcp 127.0.0.1:80 -> 10.0.0.7:4321");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_SOCKET, .family = AF_INET6,
				  .type = SOCK_STREAM, .protocol = 6, .near_port = 443,
				  .listens = 1),
			    "tcp [::]:443 (listens)");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_SOCKET, .family = AF_INET,
				  .type = SOCK_DGRAM, .protocol = 17, .near_port = 53),
			    "udp 0.0.0.0:53");
	assert_string_equal(
		WORDS(.descriptor = OFF_CPU_FD_SOCKET, .family = AF_NETLINK, .inode = 5),
		"netlink socket 5");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_SOCKET, .family = 250, .inode = 5),
			    "socket 5 of family 250");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_UNIX_SOCKET, .family = AF_UNIX,
				  .text = "/run/x", .bytes = 7, .listens = 1),
			    "unix /run/x (listens)");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_UNIX_SOCKET, .family = AF_UNIX,
				  .text = "\0ab\0c", .bytes = 5, .far_pid = 12),
			    "unix @ab@c, made by pid 12 at the other end");
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_UNIX_SOCKET, .family = AF_UNIX,
				  .inode = 8, .far_inode = 9),
			    "unix socket 8 -> 9");
}

static void test_numbers(void **state)
{
	(void)state;
	assert_string_equal(WORDS(.descriptor = OFF_CPU_FD_EPOLL, .fd = 5), "epoll fd 5");
	assert_string_equal(WORDS(.descriptor = 255, .fd = 6), "file fd 6");
}

/* Entries of io_uring: an operation is its number and one. */
static void test_entries(void **state)
{
	(void)state;
	assert_string_equal(
		WORDS(.operation = 23, .descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 2)),
		"read of /data/wal");
	assert_string_equal(WORDS(.operation = 14, .descriptor = OFF_CPU_FD_SOCKET,
				  .family = AF_NETLINK, .inode = 5),
			    "accept on netlink socket 5");
	assert_string_equal(WORDS(.operation = 12), "timeout");
	assert_string_equal(
		WORDS(.operation = 28, .descriptor = OFF_CPU_FD_PIPE, .inode = 7, .in_flight = 1),
		"recv from pipe 7 (in flight)");
	assert_string_equal(WORDS(.operation = 12, .in_flight = 255),
			    "timeout and 254 more (in flight)");
	assert_string_equal(WORDS(.operation = 255, .descriptor = OFF_CPU_FD_PIPE, .inode = 7),
			    "operation 254 of pipe 7");
	/* its file is damaged */
	assert_string_equal(
		WORDS(.operation = 23, .descriptor = OFF_CPU_FD_FILE, NAMES("wal\0data", 3)), "");
}

static unsigned int rows;

static uint32_t row_of(void *context, const char *words, const char *disk)
{
	(void)context;
	(void)words;
	assert_string_equal(disk, "");
	return ++rows;
}

/* Rows are made once in a film; what was written long ago is forgotten. */
static void test_rows(void **state)
{
	struct objects *objects = objects_new(&(struct objects_to){row_of, NULL});
	struct object_report told = {.descriptor = OFF_CPU_FD_EPOLL, .number = 7};

	(void)state;
	assert_non_null(objects);
	objects_add(objects, &told, sizeof(told));
	assert_int_equal(objects_row(objects, 8), 0);
	assert_int_equal(objects_row(objects, 7), 1);
	assert_int_equal(objects_row(objects, 7), 1);
	objects_turn(objects);
	assert_int_equal(objects_row(objects, 7), 2);
	told.number += 2u << OBJECT_AGE_BITS;
	objects_add(objects, &told, sizeof(told));
	assert_int_equal(objects_row(objects, 7), 0);
	assert_int_equal(objects_row(objects, told.number), 3);
	assert_int_equal(objects_lost(objects), 0);
	objects_add(objects, &told, 4);
	assert_int_equal(objects_lost(objects), 1);
	objects_free(objects);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),	cmocka_unit_test(test_given_paths),
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
