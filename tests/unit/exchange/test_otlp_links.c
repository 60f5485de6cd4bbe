// SPDX-License-Identifier: Apache-2.0
/* Labels that name a span are links of OTLP's samples to it. */
#include "../prelude.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/protobuf.h"
#include "exchange/gather.h"
#include "exchange/otlp/writer.h"
#include "film_build.h"

#define TRACE "0102030405060708090a0b0c0d0e0f10"
#define SPAN  "1112131415161718"

static void service_of(void *context, const struct film_process *process, char *to, size_t size)
{
	(void)context;
	snprintf(to, size, "%s", process->comm);
}

/* Its samples' values say which they are. */
static void make_film(char path[64])
{
	struct film_build b;
	uint32_t web;
	struct fail why;

	film_build_begin(&b, "on-cpu", "ns");
	web = film_build_thread(&b, 100, "web", 100, "web");
	film_build_sample(&b, 1, web, "label!route=/a,trace_id=" TRACE ",span_id=" SPAN ";main", 1);
	film_build_sample(&b, 2, web, "label!route=/b,trace_id=" TRACE ",span_id=" SPAN ";main", 2);
	film_build_sample(&b, 3, web, "label!trace_id=" TRACE ",span_id=1112;main", 3);
	film_build_sample(&b, 4, web, "label!trace_id=" TRACE ";main", 4);
	film_build_sample(&b, 5, web,
			  "label!trace_id=" SPAN "no hexadecimals!,span_id=" SPAN ";main", 5);
	film_build_sample(&b, 6, web, "main", 6);
	snprintf(path, 64, "%s", b.path);
	assert_int_equal(film_close(b.w, b.end, &why), 0);
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

static void test_links(void **state)
{
	uint64_t links[7] = {0};
	struct buf body = {0};
	struct bytes all, profile, sample, values, link, id;
	struct gathered g;
	struct fail why;
	char path[64];

	(void)state;
	make_film(path);
	assert_int_equal(gather(path, true, service_of, NULL, &g, &why), 0);
	assert_int_equal(otlp_write(&g, 7, &body), 0);
	all = (struct bytes){body.at, body.at + body.count, false};
	profile = nth_field(nth_field(nth_field(all, 1, 0), 2, 0), 2, 0);
	for (uint64_t i = 0; i < 6; i++) {
		sample = nth_field(profile, 2, i);
		values = nth_field(sample, 4, 0);
		links[bytes_varint(&values) % 7] = number_field(sample, 3);
	}
	/* both are of one span; the others name none */
	assert_int_equal(links[1], 1);
	assert_int_equal(links[2], 1);
	for (int i = 3; i < 7; i++)
		assert_int_equal(links[i], 0);
	link = nth_field(nth_field(all, 2, 0), 4, 1);
	id = nth_field(link, 1, 0);
	assert_int_equal(bytes_left(&id), 16);
	for (uint8_t i = 0; i < 16; i++)
		assert_int_equal(id.at[i], i + 1);
	id = nth_field(link, 2, 0);
	assert_int_equal(bytes_left(&id), 8);
	assert_int_equal(id.at[0], 0x11);
	assert_null(nth_field(nth_field(all, 2, 0), 4, 2).at);
	gathered_free(&g);
	buf_free(&body);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_links)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
