// SPDX-License-Identifier: Apache-2.0
/*
 * Processes and threads packed in blocks come back as they were; what is wrong with a block is
 * refused.
 */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "film/merge.h"
#include "film/processes.h"
#include "make.h"

#define ROWS 20000

struct people {
	struct film_process *processes; /* from 1 on */
	struct film_thread *threads;
	struct arena texts;
};

static const char *text(struct people *p, const char *format, unsigned int i)
{
	char words[1024];
	int length = snprintf(words, sizeof(words), format, i, i % 7);

	return arena_text(&p->texts, words, (size_t)length);
}

/*
 * Some alive, some that ended before they began, threads of lower numbers: what hostile films may
 * say.
 */
static struct people make_people(void)
{
	struct people p = {
		calloc(ROWS, sizeof(*p.processes)), calloc(ROWS, sizeof(*p.threads)), {0}};

	for (unsigned int i = 0; i < ROWS; i++) {
		p.processes[i] = (struct film_process){
			.pid = i ? 1000 + i * 3 % 30000 : 0,
			.parent = i % 5 ? 1000 + i : UINT32_MAX,
			.start = i * 7919ull * 1000003,
			.end = i % 3 ? i * 7919ull * 1000003 + i % 1000 * 999 : i % 2,
			.comm = i % 4 ? text(&p, "cc%u", i % 4) : "",
			.command = text(&p, "/usr/lib/cc1 -quiet -o /tmp/%u.s -O%u", i),
			.exe = i % 4 ? "/usr/lib/cc1" : "",
			.cgroup = "/user.slice",
			.container = i % 100 ? "" : text(&p, "%u", i / 1000),
			.user = i % 9 ? "builder" : NULL,
			.resource = i % 50 ? "" : text(&p, "service.name=s%u", i / 500),
		};
		p.threads[i] = (struct film_thread){
			.process = i / 2,
			.tid = i % 10 ? p.processes[i / 2].pid : i,
			.start = i % 10 ? p.processes[i / 2].start : 5,
			.comm = i % 10 ? p.processes[i / 2].comm : "worker",
		};
	}
	return p;
}

static void free_people(struct people *p)
{
	free(p->processes);
	free(p->threads);
	arena_free(&p->texts);
}

static void same_process(const struct film_process *a, const struct film_process *b)
{
	assert_int_equal(a->pid, b->pid);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->start, b->start);
	assert_int_equal(a->end, b->end);
	assert_string_equal(a->comm, b->comm);
	assert_string_equal(a->command, b->command);
	assert_string_equal(a->exe, b->exe);
	assert_string_equal(a->cgroup, b->cgroup);
	assert_string_equal(a->container, b->container);
	assert_string_equal(a->user ? a->user : "", b->user);
	assert_string_equal(a->resource, b->resource);
}

static void same_thread(const struct film_thread *a, const struct film_thread *b)
{
	assert_int_equal(a->process, b->process);
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->start, b->start);
	assert_string_equal(a->comm, b->comm);
}

static void test_round_trip(void **state)
{
	struct people p = make_people();
	struct film_process *processes = calloc(ROWS, sizeof(*processes));
	struct film_thread *threads = calloc(ROWS, sizeof(*threads));
	uint64_t left = UINT32_MAX, bytes = 0;
	struct column_reader reader = {0};
	struct columns columns = {0};
	struct arena arena = {0};
	const struct processes_texts texts = {&arena, &left, FILM_SCHEMA_VERSION};
	size_t from, count;

	(void)state;
	for (from = 0; from < ROWS; from += count) {
		assert_int_equal(processes_pack(&columns, p.processes + from, ROWS - from, &count),
				 0);
		assert_int_equal(processes_unpack(&reader, columns.packed.at, columns.packed.count,
						  &texts, processes + from, count),
				 0);
		bytes += columns.packed.count;
		assert_true(count && count <= FILM_PACKED_ROWS_MAX);
	}
	for (from = 0; from < ROWS; from += count) {
		assert_int_equal(
			threads_pack(&columns, p.processes, p.threads + from, ROWS - from, &count),
			0);
		assert_int_equal(threads_unpack(&reader, columns.packed.at, columns.packed.count,
						&texts, processes, ROWS, threads + from, count),
				 0);
		bytes += columns.packed.count;
	}
	for (size_t i = 0; i < ROWS; i++) {
		same_process(&p.processes[i], &processes[i]);
		same_thread(&p.threads[i], &threads[i]);
	}
	/* as rows they take more than 100 bytes each */
	assert_true(bytes < ROWS * 30);
	column_reader_free(&reader);
	columns_free(&columns);
	arena_free(&arena);
	free_people(&p);
	free(processes);
	free(threads);
}

static void test_limits(void **state)
{
	struct people p = make_people();
	struct film_process out[4];
	struct film_thread thread;
	struct column_reader reader = {0};
	struct columns columns = {0};
	struct arena arena = {0};
	uint64_t left = 10;
	const struct processes_texts texts = {&arena, &left, FILM_SCHEMA_VERSION};
	size_t count;

	(void)state;
	assert_int_equal(processes_pack(&columns, p.processes + 1, 2, &count), 0);
	assert_int_equal(count, 2);
	/* texts that may not be taken; other numbers of rows than there are; no data */
	assert_int_equal(
		processes_unpack(&reader, columns.packed.at, columns.packed.count, &texts, out, 2),
		-EBADMSG);
	left = 10000;
	for (count = 0; count < 4; count++)
		assert_int_equal(processes_unpack(&reader, columns.packed.at, columns.packed.count,
						  &texts, out, count),
				 count == 2 ? 0 : -EBADMSG);
	assert_int_equal(processes_unpack(&reader, "", 0, &texts, out, 2), -EBADMSG);
	/* a thread of a process that is not there */
	assert_int_equal(threads_pack(&columns, p.processes, p.threads + 7, 1, &count), 0);
	assert_int_equal(threads_unpack(&reader, columns.packed.at, columns.packed.count, &texts,
					p.processes, 4, &thread, 1),
			 0);
	same_thread(&thread, &p.threads[7]);
	assert_int_equal(threads_unpack(&reader, columns.packed.at, columns.packed.count, &texts,
					p.processes, 3, &thread, 1),
			 -EBADMSG);
	column_reader_free(&reader);
	columns_free(&columns);
	arena_free(&arena);
	free_people(&p);
}

/* A block of version 2, as doc/film.md has it: processes without user and resource. */
static void test_block_before(void **state)
{
	static const char *const words[] = {"cc", "cc -c a.c", "/bin/cc", "/", ""};
	/* pid, parent, started, length; then the words' numbers */
	static const uint64_t rows[][2] = {{10, 11}, {1, 1}, {5, 6}, {7, 8}, {0, 0},
					   {1, 1},   {2, 2}, {3, 3}, {4, 4}};
	const struct film_process wanted = {.pid = 11,
					    .parent = 1,
					    .start = 6,
					    .end = 14,
					    .comm = "cc",
					    .command = "cc -c a.c",
					    .exe = "/bin/cc",
					    .cgroup = "/",
					    .container = "",
					    .user = "",
					    .resource = ""};
	const size_t columns = sizeof(rows) / sizeof(rows[0]);
	uint64_t count = sizeof(words) / sizeof(words[0]), lengths[5], left = 1000;
	struct column_reader reader = {0};
	struct columns packed = {0};
	struct arena arena = {0};
	struct processes_texts texts = {&arena, &left, 2};
	struct film_process out[2];

	(void)state;
	for (size_t i = 0; i < count; i++)
		lengths[i] = strlen(words[i]);
	columns_begin(&packed);
	columns_put(&packed, &count, 1);
	columns_put(&packed, lengths, count);
	for (size_t i = 0; i < columns; i++)
		columns_put(&packed, rows[i], 2);
	for (size_t i = 0; i < count; i++)
		columns_put_bytes(&packed, words[i], lengths[i]);
	assert_int_equal(columns_end(&packed), 0);
	assert_int_equal(
		processes_unpack(&reader, packed.packed.at, packed.packed.count, &texts, out, 2),
		0);
	same_process(&out[1], &wanted);
	texts.version = 3;
	assert_int_equal(
		processes_unpack(&reader, packed.packed.at, packed.packed.count, &texts, out, 2),
		-EBADMSG);
	column_reader_free(&reader);
	columns_free(&packed);
	arena_free(&arena);
}

/* A film in which they are packed: what a merge makes. */
static void write_packed(const char *to)
{
	const char *path = "/tmp/stackcam-processes.film";
	struct fail why = {0};
	size_t bad;

	write_seconds(path, 2);
	assert_int_equal(film_merge_files(&path, 1, to, true, &bad, &why), 0);
	unlink(path);
}

static void test_in_films(void **state)
{
	static const struct {
		const char *change, *words;
	} cases[] = {
		{"DELETE FROM threads", ""},
		{"DELETE FROM processes", "table threads"},
		{"UPDATE processes SET n = 9000", "table processes"},
		{"UPDATE processes SET id = 2", "table processes"},
		{"UPDATE processes SET data = x'00'", "table processes"},
		{"UPDATE threads SET data = (SELECT data FROM processes)", "table threads"},
		{"INSERT INTO process SELECT 1, 1, 1, 1, 1, '', '', '', '', '', '', ''",
		 "table process"},
		{"INSERT INTO threads SELECT 2, n, data FROM threads", ""},
	};
	const char *path = new_path();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct film *film = NULL;
		struct fail why = {0};
		int err;

		unlink(path);
		write_packed(path);
		film = open_film(path);
		assert_int_equal(sum_of(film, 1).count, 200);
		check_promises(film);
		film_free(film);
		film = NULL;
		change_film(path, cases[i].change);
		err = film_open(path, &film, &why);
		if (err != (*cases[i].words ? -EBADMSG : 0))
			print_error("%s: %d %s\n", cases[i].change, err, why.what);
		assert_int_equal(err, *cases[i].words ? -EBADMSG : 0);
		if (err)
			assert_non_null(strstr(why.what, cases[i].words));
		film_free(film);
	}
	remove_folder();
}

#define MAKE_BEFORE(version)                                                                     \
	"CREATE TEMP TABLE kept AS SELECT id, pid, parent, started, ended, comm, command, exe, " \
	"cgroup, container FROM process; DROP TABLE process; "                                   \
	"CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, "             \
	"started INTEGER, ended INTEGER, comm TEXT, command TEXT, exe TEXT, "                    \
	"cgroup TEXT, container TEXT); INSERT INTO process SELECT * FROM kept; "                 \
	"PRAGMA user_version = " version

/*
 * Films of the versions before had no such tables, or no users: they are read, merged and named as
 * ever.
 */
static void check_version_before(const char *change)
{
	const char *path = new_path(), *to = "/tmp/stackcam-processes-to.film";
	struct film_writer *w = NULL;
	struct film_name name = {"named", "", 0};
	struct fail why = {0};
	struct film *film;
	size_t bad;

	write_seconds(path, 2);
	change_film(path, change);
	film = open_film(path);
	check_seconds(film, 2);
	assert_string_equal(film->processes[1].comm, "a");
	assert_string_equal(film->processes[1].user, "");
	film_free(film);
	assert_int_equal(film_open_for_naming(path, &w, &why), 0);
	film_name_frame(w, 1, &name, 1);
	assert_int_equal(film_close(w, 0, &why), 0);
	film = open_film(path);
	assert_string_equal(film->functions[film->frames[1].function].name, "named");
	film_free(film);
	assert_int_equal(film_merge_files(&path, 1, to, true, &bad, &why), 0);
	film = open_film(to);
	assert_int_equal(sum_of(film, 1).count, 200);
	assert_string_equal(film->processes[1].comm, "a");
	film_free(film);
	unlink(to);
	remove_folder();
}

static void test_versions_before(void **state)
{
	(void)state;
	check_version_before(MAKE_BEFORE("1; DROP TABLE processes; DROP TABLE threads"));
	check_version_before(MAKE_BEFORE("2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	cmocka_unit_test(test_limits),
		cmocka_unit_test(test_in_films),	cmocka_unit_test(test_block_before),
		cmocka_unit_test(test_versions_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
