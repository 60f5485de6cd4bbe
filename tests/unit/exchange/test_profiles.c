// SPDX-License-Identifier: Apache-2.0
/*
 * What is sent to others is taken in again by the decoders of pushes, which are tested with bodies
 * of other encoders: it must say what the film says.
 */
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exchange/firefox/writer.h"
#include "exchange/gather.h"
#include "exchange/otlp/reader.h"
#include "exchange/otlp/writer.h"
#include "exchange/pprof/reader.h"
#include "exchange/pprof/writer.h"
#include "film/names.h"
#include "base/protobuf.h"
#include "film_build.h"
#include "send/to_others.h"

#define SECOND 1000000000ull

static void service_of(void *context, const struct film_process *process, char *to, size_t size)
{
	(void)context;
	snprintf(to, size, "%s", process->comm);
}

/* A film of a web server (100) and its database (200), as a file; its samples add up to 51. */
static void make_film(char path[64])
{
	struct film_build b;
	uint32_t web, worker, db;
	struct fail why;

	film_build_begin(&b, "on-cpu", "ns");
	web = film_build_thread(&b, 100, "web", 100, "web");
	worker = film_build_thread(&b, 100, "web", 101, "worker");
	db = film_build_thread(&b, 200, "db \x1b[31m/..", 200, "db");
	film_build_sample(&b, 1, web, "main;serve;read@a.c:12", 10);
	film_build_sample(&b, 2, web, "main;serve;read@a.c:12", 10);
	film_build_sample(&b, 3, worker, "label!endpoint=/buy;main;outer@a.c:7>inner", 5);
	film_build_sample(&b, 4, worker, "main;py!handle;k!schedule", 1);
	film_build_sample(&b, 5, db, "main;db!+1234-1200", 20);
	film_build_sample(&b, 6, db, "", 5);
	film_loss(b.w, 0, "ring full", 3);
	film_loss(b.w, 0, "names", 4);
	film_loss(b.w, b.event, "throttled", 5);
	snprintf(path, 64, "%s", b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
}

static const struct gathered_part *part_of(const struct gathered *g, const char *service)
{
	vec_foreach (&g->parts, part)
		if (!strcmp(g->groups.at[part->group].service, service))
			return part;
	fail_msg("there is no service %s", service);
	return NULL;
}

static void test_gather(void **state)
{
	struct gathered g;
	const struct gathered_part *part;
	struct fail why;
	char path[64];

	(void)state;
	make_film(path);
	assert_int_equal(gather(path, false, service_of, NULL, &g, &why), 0);
	assert_int_equal(g.parts.count, 2);
	part = part_of(&g, "web");
	assert_int_equal(part->count, 3);
	assert_int_equal(g.sums.at[part->first].samples, 2);
	assert_int_equal(g.sums.at[part->first].value, 20);
	assert_string_equal(gathered_event(&g, part->event), "cpu");
	assert_true(g.from > 1767000000 * SECOND && g.to >= g.from);
	gathered_free(&g);
	unlink(path);
	assert_int_equal(gather(path, false, service_of, NULL, &g, &why), -ENOENT);
	gathered_free(&g);
}

/* A film of what was pushed, for as long as the test looks at it. */
struct taken {
	char path[64];
	struct import *film;
	struct film *read;
};

static void begin(struct taken *taken, const struct import_span *span)
{
	static const struct import_origin origin = {.host = "host"};
	struct fail why;

	strcpy(taken->path, "/tmp/stackcam-taken-XXXXXX");
	close(mkstemp(taken->path));
	assert_int_equal(import_new(taken->path, &origin, span, &taken->film, &why), 0);
}

static void look(struct taken *taken)
{
	struct fail why;

	assert_int_equal(import_close(taken->film, &why), 0);
	assert_int_equal(film_open(taken->path, &taken->read, &why), 0);
	unlink(taken->path);
}

static uint64_t total_of(struct film *film)
{
	uint64_t samples, total;

	film_event_total(film, film_find_event(film, "on-cpu"), &samples, &total);
	return total;
}

static bool has_function(const struct film *film, const char *name, enum film_frame_kind kind)
{
	for (uint32_t i = 1; i < film->function_count; i++)
		if (!strcmp(film->functions[i].name, name) && film->functions[i].kind == kind)
			return true;
	return false;
}

/* What a command prints, up to its end. */
static void printed(char *to, size_t size, const char *format, const char *what)
{
	char command[256];
	FILE *from;

	snprintf(command, sizeof(command), format, what);
	from = popen(command, "re");
	assert_non_null(from);
	to[fread(to, 1, size - 1, from)] = 0;
	pclose(from);
}

static void test_pprof(void **state)
{
	struct import_span span = {0, SECOND};
	struct pprof_reader *profile;
	struct taken taken;
	struct gathered g;
	struct fail why;
	char path[64], found[256], *body = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&body, &size);

	(void)state;
	make_film(path);
	assert_int_equal(gather(path, false, service_of, NULL, &g, &why), 0);
	assert_int_equal(pprof_write_gathered(&g, part_of(&g, "web"), out), 0);
	fclose(out);
	assert_int_equal(pprof_reader_open((const uint8_t *)body, size, &profile, &why), 0);
	pprof_reader_span(profile, &span);
	assert_int_equal(span.from, g.from);
	begin(&taken, &span);
	assert_int_equal(pprof_reader_import(profile, "web", taken.film, &why), 0);
	look(&taken);
	assert_int_equal(total_of(taken.read), 26);
	assert_true(has_function(taken.read, "read", FILM_FRAME_NATIVE));
	assert_true(has_function(taken.read, "endpoint=/buy", FILM_FRAME_LABEL));
	assert_int_equal(taken.read->inline_count, 1);
	film_free(taken.read);
	pprof_reader_free(profile);
	gathered_free(&g);
	/* what the host has lost is reported, also where it is of no event */
	out = fopen(path, "we");
	assert_int_equal(fwrite(body, 1, size, out), size);
	fclose(out);
	printed(found, sizeof(found), "gzip -dc < %s | grep -ao 'lost on this host: ring full 3'",
		path);
	assert_string_equal(found, "lost on this host: ring full 3\n");
	free(body);
	unlink(path);
}

static uint64_t lost(const struct film *film, uint32_t event, const char *reason)
{
	for (size_t i = 0; i < film->loss_count; i++)
		if (film->losses[i].event == event && !strcmp(film->losses[i].reason, reason))
			return film->losses[i].count;
	return 0;
}

/* The n-th field of that number, a message, or none. */
static struct bytes nth_field(struct bytes message, unsigned int number, uint64_t n)
{
	struct proto_field field;

	while (proto_next(&message, &field))
		if (field.number == number && field.wire == PROTO_BYTES && !n--)
			return field.bytes;
	return (struct bytes){0};
}

static uint64_t number_field(struct bytes message, unsigned int number)
{
	struct proto_field field;

	while (proto_next(&message, &field))
		if (field.number == number && field.wire == PROTO_VARINT)
			return field.value;
	return 0;
}

/*
 * An attribute of the first profile of the n-th resource; 0: it has none. Or how many it has, where
 * key is null.
 */
static uint64_t attribute_of(const struct buf *body, uint64_t n, const char *key)
{
	struct bytes all = {body->at, body->at + body->count, false};
	struct bytes tables = nth_field(all, 2, 0), resource = nth_field(all, 1, n);
	struct bytes profile = nth_field(nth_field(resource, 2, 0), 2, 0);
	struct bytes indices = nth_field(profile, 11, 0);
	uint64_t count = 0;

	while (bytes_left(&indices)) {
		struct bytes attribute = nth_field(tables, 6, bytes_varint(&indices));
		struct bytes name = nth_field(tables, 5, number_field(attribute, 1));

		count++;
		if (key && strlen(key) == bytes_left(&name) &&
		    !memcmp(name.at, key, bytes_left(&name)))
			return number_field(nth_field(attribute, 2, 0), 3);
	}
	return key ? 0 : count;
}

/* What the host lost stands in each profile; where nothing else is left, in one without samples. */
static void test_otlp_losses(void **state)
{
	struct film_build b;
	struct buf body = {0};
	struct gathered g;
	struct fail why;
	char path[64];
	uint32_t other;

	(void)state;
	make_film(path);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(attribute_of(&body, i, NULL), 5);
		assert_int_equal(attribute_of(&body, i, "stackcam.host.lost"), 5);
		assert_int_equal(attribute_of(&body, i, "stackcam.host.lost_of_no_event"), 7);
		assert_int_equal(attribute_of(&body, i, "stackcam.host.lost_of_no_event.ring full"),
				 3);
		assert_int_equal(attribute_of(&body, i, "stackcam.host.lost_of_no_event.names"), 4);
		assert_int_equal(attribute_of(&body, i, "stackcam.host.lost.throttled"), 5);
	}
	assert_int_equal(attribute_of(&body, 2, NULL), 0);
	gathered_free(&g);
	buf_free(&body);
	unlink(path);

	film_build_begin(&b, "on-cpu", "ns");
	other = film_add_event(b.w, &(struct film_event){"off-cpu", "ns", "", 0});
	film_build_sample(&b, 1, film_build_thread(&b, 1, "a", 1, "a"), "main", 1);
	film_loss(b.w, other, "ring \x1b full", 9);
	strcpy(path, b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	assert_int_equal(attribute_of(&body, 0, NULL), 0);
	assert_int_equal(attribute_of(&body, 1, "stackcam.host.lost"), 9);
	assert_null(memchr(body.at, 0x1b, body.count));
	gathered_free(&g);
	buf_free(&body);
	unlink(path);

	/* without a sample or a loss, no message */
	film_build_begin(&b, "on-cpu", "ns");
	strcpy(path, b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	assert_int_equal(body.count, 0);
	gathered_free(&g);
	buf_free(&body);
	unlink(path);
}

static void test_otlp(void **state)
{
	struct import_span span = {0, SECOND};
	struct otlp_reader *request;
	struct buf body = {0};
	struct taken taken;
	struct gathered g;
	struct fail why;
	char path[64];

	(void)state;
	make_film(path);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	assert_int_equal(otlp_reader_open(body.at, body.count, &request, &why), 0);
	assert_int_equal(otlp_reader_count(request), 1);
	otlp_reader_span(request, 0, &span);
	assert_int_equal(span.from, g.from);
	assert_int_equal(span.to, g.to);
	begin(&taken, &span);
	assert_int_equal(otlp_reader_import(request, 0, taken.film, &why), 0);
	look(&taken);
	assert_int_equal(total_of(taken.read), 51);
	assert_true(has_function(taken.read, "read", FILM_FRAME_NATIVE));
	assert_true(has_function(taken.read, "handle", FILM_FRAME_PYTHON));
	assert_true(has_function(taken.read, "schedule", FILM_FRAME_KERNEL));
	assert_int_equal(taken.read->inline_count, 1);
	assert_int_equal(taken.read->process_count, 3);
	/* two services tell what one host lost */
	assert_int_equal(taken.read->loss_count, 3);
	assert_int_equal(lost(taken.read, 0, "ring full"), 3);
	assert_int_equal(lost(taken.read, 0, "names"), 4);
	assert_int_equal(lost(taken.read, 1, "throttled"), 5);
	film_free(taken.read);
	otlp_reader_free(request);
	gathered_free(&g);
	buf_free(&body);
	unlink(path);
}

/* A film of one sample, whose stack has depth frames; the outermost has a name of its own. */
static void make_deep(char path[64], unsigned int depth)
{
	struct film_build b;
	uint32_t thread, stack;
	struct fail why;

	film_build_begin(&b, "on-cpu", "ns");
	thread = film_build_thread(&b, 100, "deep", 100, "deep");
	stack = film_build_stack(&b, "outermost");
	for (unsigned int i = 1; i < depth; i++)
		stack = film_stack(b.w, stack, film_build_frame(&b, i % 2 ? "even" : "odd"),
				   FILM_HOW_EXACT);
	b.end = FILM_BUILD_START + 1000000;
	film_sample(b.w, b.event, b.end, thread, stack, 7);
	snprintf(path, 64, "%s", b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
}

/* What is read of a deep film that was written as OTLP. */
static void pass_deep(unsigned int depth, struct taken *taken)
{
	struct import_span span = {0, SECOND};
	struct otlp_reader *request;
	struct buf body = {0};
	struct gathered g;
	struct fail why;
	char path[64];

	make_deep(path, depth);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	assert_int_equal(otlp_reader_open(body.at, body.count, &request, &why), 0);
	begin(taken, &span);
	assert_int_equal(otlp_reader_import(request, 0, taken->film, &why), 0);
	look(taken);
	assert_int_equal(total_of(taken->read), 7);
	otlp_reader_free(request);
	gathered_free(&g);
	buf_free(&body);
	unlink(path);
}

static void test_otlp_deep(void **state)
{
	struct taken taken;

	(void)state;
	pass_deep(2048, &taken);
	assert_true(has_function(taken.read, "outermost", FILM_FRAME_NATIVE));
	for (uint32_t i = 1; i < taken.read->function_count; i++)
		assert_string_not_equal(taken.read->functions[i].name, NAME_TOO_DEEP);
	film_free(taken.read);
	pass_deep(2049, &taken);
	assert_false(has_function(taken.read, "outermost", FILM_FRAME_NATIVE));
	assert_int_equal(taken.read->stack_count, 1 + 2048 + 1);
	assert_string_equal(
		taken.read->functions[taken.read->frames[taken.read->stacks[1].frame].function]
			.name,
		NAME_TOO_DEEP);
	film_free(taken.read);
}

/* Its table of stacks is a tree, so that depth costs nothing. */
static void test_firefox_deep(void **state)
{
	struct question q = {0};
	struct film *film;
	struct fail why;
	char path[64], *text = NULL;
	uint64_t samples;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	make_deep(path, 5000);
	assert_int_equal(film_open(path, &film, &why), 0);
	assert_int_equal(firefox_write_samples(film, &q, out, &samples, &why), 0);
	fclose(out);
	assert_int_equal(samples, 1);
	assert_non_null(strstr(text, "\"outermost\""));
	/* the sample's stack is the last of 5000 */
	assert_non_null(strstr(text, "\"stack\":[4999]"));
	film_free(film);
	free(text);
	unlink(path);
}

static void test_folder(void **state)
{
	char folder[] = "/tmp/stackcam-pprof-XXXXXX", command[128], found[4096];
	struct to_others_options options = {
		.where = folder, .service_of = service_of, .limit = 1 << 20};
	struct spool_film film = {.number = 1};
	struct destination to;
	uint64_t retry_after;
	struct fail why;
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	make_film(path);
	snprintf(film.path, sizeof(film.path), "%s", path);
	assert_int_equal(to_pprof_folder(&options, &to, &why), 0);
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT);
	/* once more is no more files */
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT);
	/* a film that is not there was not written */
	unlink(path);
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT_GONE);
	to.free(to.self);
	printed(found, sizeof(found), "cd %s && find . -type f | sort", folder);
	/* a hostile name of a process is a harmless one of a folder */
	assert_string_equal(found, "./db_31m_../20260102T030405.000Z.on-cpu.pb.gz\n"
				   "./web/20260102T030405.000Z.on-cpu.pb.gz\n");

	/* the limit holds also for what is there from before; what is not ours stays */
	snprintf(command, sizeof(command), "echo mine > %s/web/notes.pb.gz", folder);
	assert_int_equal(system(command), 0);
	options.limit = 10;
	assert_int_equal(to_pprof_folder(&options, &to, &why), 0);
	to.free(to.self);
	printed(found, sizeof(found), "cd %s && find . -type f | sort", folder);
	assert_string_equal(found, "./web/notes.pb.gz\n");
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

/* A film of which nothing but losses is left. */
static void make_lost(struct spool_film *film)
{
	struct film_build b;
	struct fail why;

	film_build_begin(&b, "on-cpu", "ns");
	film_loss(b.w, b.event, "ring \x1b full", 9);
	film_loss(b.w, 0, "names", 4);
	*film = (struct spool_film){.number = 1};
	snprintf(film->path, sizeof(film->path), "%s", b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
}

/* Nothing that was lost goes unseen, where nothing else is left either. */
static void test_folder_losses(void **state)
{
	char folder[] = "/tmp/stackcam-pprof-XXXXXX", found[4096];
	struct to_others_options options = {
		.where = folder, .service_of = service_of, .limit = 1 << 20};
	struct spool_film film;
	struct destination to;
	uint64_t retry_after;
	struct fail why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	make_lost(&film);
	assert_int_equal(to_pprof_folder(&options, &to, &why), 0);
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT);
	to.free(to.self);
	unlink(film.path);
	printed(found, sizeof(found), "cd %s && find . -type f", folder);
	assert_string_equal(found, "./lost/20260102T030405.000Z.on-cpu.pb.gz\n");
	printed(found, sizeof(found), "gzip -dc %s/lost/* | grep -ao 'host: ring [^ ]* full 9'",
		folder);
	assert_string_equal(found, "host: ring \\x1b full 9\n");
	printed(found, sizeof(found), "gzip -dc %s/lost/* | grep -ao 'host: names 4'", folder);
	assert_string_equal(found, "host: names 4\n");
	printed(found, sizeof(found), "rm -r %s/lost", folder);
	rmdir(folder);
}

/*
 * Pyroscope keeps no profile without samples: none is sent, and the log says so.
 */
static void test_pyroscope_losses(void **state)
{
	struct to_others_options options = {.where = "http://there/", .service_of = service_of};
	struct spool_film film;
	struct destination to;
	uint64_t retry_after;
	struct fail why;

	(void)state;
	make_lost(&film);
	assert_int_equal(to_pyroscope(&options, false, &to, &why), 0);
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT_BUT);
	to.free(to.self);
	unlink(film.path);
	assert_non_null(strstr(why.what, "http://there does not keep"));
	assert_non_null(strstr(why.what, "2026-01-02T03:04:05Z: ring \x1b full 9, names 4"));
}

/* Names of services whose folders would be called the same. */
static void alike(void *context, const struct film_process *process, char *to, size_t size)
{
	(void)context;
	snprintf(to, size, process->pid == 100 ? "a/b" : "a b");
}

static void test_folder_of_each(void **state)
{
	char folder[] = "/tmp/stackcam-pprof-XXXXXX", found[4096], path[64];
	struct to_others_options options = {.where = folder, .service_of = alike, .limit = 1 << 20};
	struct spool_film film = {.number = 1};
	struct destination to;
	uint64_t retry_after;
	struct fail why;

	(void)state;
	assert_non_null(mkdtemp(folder));
	make_film(path);
	snprintf(film.path, sizeof(film.path), "%s", path);
	assert_int_equal(to_pprof_folder(&options, &to, &why), 0);
	assert_int_equal(to.send(to.self, &film, &retry_after, &why), SENT);
	to.free(to.self);
	unlink(path);
	printed(found, sizeof(found), "cd %s && ls | sed 's/-[0-9a-f]*$/-HASH/' && rm -r a_b*",
		folder);
	assert_string_equal(found, "a_b\na_b-HASH\n");
	rmdir(folder);
}

static void test_refused(void **state)
{
	/* partial_success: rejected_profiles 300, error_message of 200 bytes */
	uint8_t reply[3 + 3 + 3 + 200] = {0x0a, 0xce, 0x01, 0x08, 0xac, 0x02, 0x12, 0xc8, 0x01};

	(void)state;
	assert_int_equal(otlp_refused(reply, sizeof(reply)), 300);
	/* as much as was kept */
	assert_int_equal(otlp_refused(reply, 100), 300);
	assert_int_equal(otlp_refused(reply, 6), 300);
	for (size_t size = 0; size < 6; size++)
		assert_int_equal(otlp_refused(reply, size), 0);
	/* only a warning */
	reply[4] = reply[5] = 0;
	assert_int_equal(otlp_refused(reply, 5), 0);
	/* another field, and one that ends before its number */
	assert_int_equal(otlp_refused("\x12\x02\x08\x05", 4), 0);
	assert_int_equal(otlp_refused("\x0a\x00\x08\x05", 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gather),
		cmocka_unit_test(test_pprof),
		cmocka_unit_test(test_otlp),
		cmocka_unit_test(test_otlp_deep),
		cmocka_unit_test(test_firefox_deep),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_otlp_losses),
		cmocka_unit_test(test_folder_of_each),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_folder_losses),
		cmocka_unit_test(test_pyroscope_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
