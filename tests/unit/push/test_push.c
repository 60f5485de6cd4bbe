// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "take.h"

#define SECOND 1000000000ull
#define START  (1767225600 * SECOND) /* of the profiles in vectors/ */

static const struct query shop[] = {
	{"name", "shop.cpu{env=prod,hostname=web-1}"},
	{"from", "1767225600"},
	{"until", "1767225610"},
	{NULL, NULL},
};

/* The film of go_cpu() in make_vectors.py. */
static void is_go_cpu(struct film *film)
{
	uint64_t samples;

	assert_int_equal(event_total(film, "on-cpu", &samples), 550000000);
	assert_int_equal(samples, 55);
	assert_int_equal(film->event_count, 2);
	assert_string_equal(film->events[1].unit, "ns");
	assert_int_equal(stack_total(film, "on-cpu", "endpoint=/buy;main.main;main.inner"),
			 300000000);
	assert_int_equal(stack_total(film, "on-cpu", "endpoint=/sell;main.main;main.inner"),
			 200000000);
	assert_int_equal(stack_total(film, "on-cpu", "main.main;runtime.futex"), 50000000);
	assert_int_equal(film->info.start, START);
	assert_int_equal(film->info.end, START + 10 * SECOND);
	assert_int_equal(film->info.wall_offset, 0);
}

/* The one function that calls what it was inlined into. */
static void has_inlined(const struct film *film)
{
	assert_int_equal(film->inline_count, 1);
	assert_string_equal(film->functions[film->inlines[0].function].name, "main.work");
	assert_int_equal(film->inlines[0].line, 30);
	for (uint32_t i = 1; i < film->frame_count; i++)
		if (film->frames[i].address == 0x402020) {
			assert_string_equal(film->frames[i].file, "/src/work.go");
			assert_int_equal(film->frames[i].line, 7);
			assert_string_equal(film->images[film->frames[i].image].path, "/srv/app");
			assert_int_equal(film->images[film->frames[i].image].build_id_size, 20);
			return;
		}
	fail_msg("the address is not that in the file");
}

static void is_of(const struct film *film, const char *service, const char *labels)
{
	char group[300];

	snprintf(group, sizeof(group), "service:%s", service);
	assert_true(film->process_count > 1);
	assert_string_equal(film->processes[1].cgroup, group);
	assert_string_equal(film->processes[1].comm, service);
	assert_string_equal(film->info.labels, labels);
}

static void test_ingest_pprof(void **state)
{
	struct pushed pushed = {0};
	struct fail why;
	size_t size;
	uint8_t *body = vector_read("go-cpu.pb.gz", &size);
	struct query query[5] = {shop[0], shop[1], shop[2], {"format", "pprof"}};

	(void)state;
	assert_int_equal(push_to(push_ingest, query, NULL, body, size, &pushed, &why), 0);
	assert_int_equal(pushed.count, 1);
	assert_string_equal(pushed.hosts[0], "web-1");
	assert_string_equal(pushed.films[0]->info.hostname, "web-1");
	is_go_cpu(pushed.films[0]);
	has_inlined(pushed.films[0]);
	is_of(pushed.films[0], "shop", "env=prod");
	pushed_free(&pushed);
	free(body);
}

static void test_ingest_form(void **state)
{
	static const char type[] = "multipart/form-data; boundary=6f1d2c3b4a5968778695a4b3c2d1e0f0";
	struct pushed pushed = {0};
	struct fail why;
	size_t size;
	uint8_t *body = vector_read("multipart", &size);

	(void)state;
	assert_int_equal(push_to(push_ingest, shop, type, body, size, &pushed, &why), 0);
	assert_int_equal(pushed.count, 1);
	is_go_cpu(pushed.films[0]);
	pushed_free(&pushed);
	/* its end is missing */
	assert_int_equal(push_to(push_ingest, shop, type, body, size / 2, &pushed, &why), -EBADMSG);
	free(body);
}

static void test_ingest_heap(void **state)
{
	struct query query[] = {{"name", "orders"}, {"format", "pprof"}, {NULL, NULL}};
	struct pushed pushed = {0};
	struct fail why;
	size_t size;
	uint64_t samples;
	uint8_t *body = vector_read("go-heap.pb", &size);

	(void)state;
	assert_int_equal(push_to(push_ingest, query, NULL, body, size, &pushed, &why), 0);
	assert_int_equal(pushed.count, 1);
	assert_string_equal(pushed.hosts[0], "pushed");
	assert_int_equal(pushed.films[0]->event_count, 5);
	assert_int_equal(event_total(pushed.films[0], "alloc_space", &samples), 4096);
	assert_int_equal(samples, 1);
	assert_int_equal(event_total(pushed.films[0], "inuse_objects", NULL), 2);
	assert_string_equal(pushed.films[0]->events[2].unit, "bytes");
	assert_string_equal(pushed.films[0]->events[3].unit, "count");
	/* what has no file but a source is a script */
	assert_int_equal(pushed.films[0]->images[1].kind, FILM_IMAGE_SCRIPT);
	assert_int_equal(pushed.films[0]->frames[1].kind, FILM_FRAME_PYTHON);
	pushed_free(&pushed);
	free(body);
}

static void test_ingest_folded(void **state)
{
	static const char text[] =
		"main;work;read 12\nmain;work 3\r\n\nmain;idle 0\nno number\nmain;work 2";
	struct query query[6] = {shop[0], shop[1], shop[2], {"sampleRate", "100"}};
	struct pushed pushed = {0};
	uint64_t samples;
	struct fail why;

	(void)state;
	assert_int_equal(push_to(push_ingest, query, NULL, text, strlen(text), &pushed, &why), 0);
	assert_int_equal(pushed.count, 1);
	assert_int_equal(event_total(pushed.films[0], "on-cpu", &samples), 170000000);
	assert_int_equal(samples, 17);
	assert_int_equal(stack_total(pushed.films[0], "on-cpu", "main;work;read"), 120000000);
	assert_int_equal(stack_total(pushed.films[0], "on-cpu", "main;work"), 50000000);
	assert_int_equal(pushed.films[0]->loss_count, 1);
	assert_int_equal(pushed.films[0]->losses[0].count, 1);
	pushed_free(&pushed);

	query[3] = (struct query){"format", "lines"};
	assert_int_equal(push_to(push_ingest, query, NULL, "a;b\na;b\na;c\n", 12, &pushed, &why),
			 0);
	assert_int_equal(stack_total(pushed.films[0], "on-cpu", "a;b"), 20000000);
	pushed_free(&pushed);

	query[0].value = "shop.alloc_space{}";
	query[3] = (struct query){"units", "bytes"};
	assert_int_equal(push_to(push_ingest, query, NULL, "a;b 4096\n", 9, &pushed, &why), 0);
	assert_int_equal(stack_total(pushed.films[0], "alloc_space", "a;b"), 4096);
	is_of(pushed.films[0], "shop", "");
	pushed_free(&pushed);
}

static void test_ingest_refuses(void **state)
{
	struct query query[6] = {shop[0], shop[1], shop[2], {"format", "jfr"}};
	struct query unnamed[] = {{"from", "1767225600"}, {NULL, NULL}};
	struct query late[] = {
		shop[0], {"from", "1767225610"}, {"until", "1767225600"}, {NULL, NULL}};
	struct query future[] = {shop[0], {"until", "99999999999"}, {NULL, NULL}};
	struct query never[] = {
		shop[0], {"from", "9999999990"}, {"until", "9999999999"}, {NULL, NULL}};
	struct query long_ago[] = {shop[0], {"from", "1000000000"}, {NULL, NULL}};
	struct pushed pushed = {0};
	struct fail why;

	(void)state;
	assert_int_equal(push_to(push_ingest, query, NULL, "a 1", 3, &pushed, &why), -EOPNOTSUPP);
	assert_non_null(strstr(why.what, "jfr"));
	assert_int_equal(push_to(push_ingest, unnamed, NULL, "a 1", 3, &pushed, &why), -EINVAL);
	assert_int_equal(push_to(push_ingest, late, NULL, "a 1", 3, &pushed, &why), -EINVAL);
	assert_int_equal(push_to(push_ingest, future, NULL, "a 1", 3, &pushed, &why), -EINVAL);
	assert_int_equal(push_to(push_ingest, never, NULL, "a 1", 3, &pushed, &why), -EINVAL);
	assert_int_equal(push_to(push_ingest, long_ago, NULL, "a 1", 3, &pushed, &why), -EINVAL);
	assert_int_equal(push_to(push_ingest, shop, NULL, "\0\0\0", 3, &pushed, &why), -EBADMSG);
	assert_int_equal(push_to(push_ingest, shop, NULL, "\x1f\x8b garbage", 10, &pushed, &why),
			 -EBADMSG);
	/* nothing in it is nothing to keep, and no mistake */
	assert_int_equal(push_to(push_ingest, shop, NULL, "", 0, &pushed, &why), 0);
	assert_int_equal(pushed.count, 0);
	pushed.err = -ENOSPC;
	assert_int_equal(push_to(push_ingest, shop, NULL, "a 1", 3, &pushed, &why), -ENOSPC);
}

static void test_push(void **state)
{
	struct pushed pushed = {0};
	struct fail why;
	size_t size;
	uint8_t *body = vector_read("push", &size);

	(void)state;
	assert_int_equal(push_to(push_pusher, NULL, "application/proto", body, size, &pushed, &why),
			 0);
	assert_int_equal(pushed.count, 2);
	is_go_cpu(pushed.films[0]);
	is_of(pushed.films[0], "shop", "env=prod");
	is_of(pushed.films[1], "orders", "env=prod");
	assert_string_equal(pushed.hosts[1], "web-1");
	assert_int_equal(event_total(pushed.films[1], "inuse_space", NULL), 1024);
	pushed_free(&pushed);

	/* a label with a field that there is not: no part is kept, also not in memory */
	assert_int_equal(push_to(push_pusher, NULL, "application/proto",
				 "\x0a\x08\x0a\x06\x02\x04leak", 10, &pushed, &why),
			 0);
	assert_int_equal(pushed.count, 0);
	assert_int_equal(push_to(push_pusher, NULL, "application/json", body, size, &pushed, &why),
			 -EOPNOTSUPP);
	assert_int_equal(
		push_to(push_pusher, NULL, "application/grpc+proto", body, size, &pushed, &why),
		-EOPNOTSUPP);
	assert_int_equal(push_to(push_pusher, NULL, NULL, body, size, &pushed, &why), -EOPNOTSUPP);
	pushed_free(&pushed);
	free(body);
}

static const struct film_process *find_process(const struct film *film, const char *comm)
{
	for (uint32_t i = 1; i < film->process_count; i++)
		if (!strcmp(film->processes[i].comm, comm))
			return &film->processes[i];
	fail_msg("no process is called %s", comm);
	return NULL;
}

static void test_otlp(void **state)
{
	struct pushed pushed = {0};
	struct film *film;
	struct fail why;
	uint64_t samples;
	size_t size;
	uint8_t *body = vector_read("otlp", &size);

	(void)state;
	assert_int_equal(push_to(push_opentelemetry, NULL, "application/x-protobuf", body, size,
				 &pushed, &why),
			 0);
	/* one host with the same labels: one film */
	assert_int_equal(pushed.count, 1);
	film = pushed.films[0];
	assert_string_equal(film->info.hostname, "web-2");
	assert_string_equal(film->info.labels, "version=1.2");
	assert_int_equal(film->info.start, START);
	assert_int_equal(film->info.end, START + 5 * SECOND);

	/* 90 stamps of 50 ms, and one value of another resource */
	assert_int_equal(event_total(film, "on-cpu", &samples), 91 * 50000000ull);
	assert_int_equal(samples, 91);
	assert_int_equal(stack_total(film, "on-cpu", "main;?"), 61 * 50000000ull);
	assert_int_equal(stack_total(film, "on-cpu", "main;handle"), 0);
	assert_int_equal(stack_total(film, "on-cpu", "do_syscall_64"), 10 * 50000000ull);
	/* a type that stackcam knows has the name that it has here */
	assert_int_equal(event_total(film, "off-cpu", NULL), 7000000);

	assert_string_equal(find_process(film, "shop")->cgroup, "service:shop");
	assert_int_equal(find_process(film, "shop")->pid, 4711);
	assert_string_equal(find_process(film, "orders")->cgroup, "service:orders");
	/* which service it is, the rules of the store say */
	assert_string_equal(find_process(film, "worker")->cgroup, "");
	assert_string_equal(find_process(film, "worker")->exe, "/srv/app");
	pushed_free(&pushed);
	free(body);
}

/*
 * The same body with every possible end, and with many wrong bytes: it is taken or refused, no
 * more.
 */
static void damage(route_function *route, const struct query *query, const char *type,
		   const char *name)
{
	struct pushed pushed = {0};
	struct fail why;
	size_t size;
	uint8_t *body = vector_read(name, &size), *copy;
	uint32_t random = 1;

	for (size_t i = 0; i < size; i += 1 + size / 200) {
		/* of its own, so that a sanitizer sees what is read behind its end */
		copy = malloc(i ? i : 1);
		assert_non_null(copy);
		memcpy(copy, body, i);
		push_to(route, query, type, copy, i, &pushed, &why);
		pushed_free(&pushed);
		free(copy);
	}
	for (int i = 0; i < 200; i++) {
		uint8_t before;
		size_t at;

		random = random * 1664525 + 1013904223;
		at = size ? random % size : 0;
		before = body[at];
		body[at] ^= (uint8_t)(1u << (random >> 29));
		push_to(route, query, type, body, size, &pushed, &why);
		pushed_free(&pushed);
		body[at] = before;
	}
	free(body);
}

static void test_damaged(void **state)
{
	static const char proto[] = "application/x-protobuf";
	struct query query[] = {shop[0], {"format", "pprof"}, {NULL, NULL}};

	(void)state;
	damage(push_ingest, query, NULL, "go-cpu.pb.gz");
	damage(push_ingest, query, NULL, "go-heap.pb");
	damage(push_ingest, shop, "multipart/form-data; boundary=6f1d2c3b4a5968778695a4b3c2d1e0f0",
	       "multipart");
	damage(push_pusher, NULL, proto, "push");
	damage(push_opentelemetry, NULL, proto, "otlp");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ingest_pprof),   cmocka_unit_test(test_ingest_form),
		cmocka_unit_test(test_ingest_heap),    cmocka_unit_test(test_ingest_folded),
		cmocka_unit_test(test_ingest_refuses), cmocka_unit_test(test_push),
		cmocka_unit_test(test_otlp),	       cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
