// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gzip.h"
#include "base/protobuf.h"
#include "exchange/pyroscope/ingest.h"
#include "exchange/pprof/reader.h"

static void parse(const char *name, struct import_origin *origin, char type[INGEST_TYPE_MAX + 1])
{
	memset(origin, 0, sizeof(*origin));
	ingest_name_parse(name, origin, type);
}

static void test_names(void **state)
{
	static struct import_origin o;
	char type[INGEST_TYPE_MAX + 1], many[4000] = "app{";

	(void)state;
	parse("my.app.cpu{env=staging,region=us-west-1}", &o, type);
	assert_string_equal(o.service, "my.app");
	assert_string_equal(type, "cpu");
	assert_string_equal(o.labels, "env=staging,region=us-west-1");
	assert_string_equal(o.host, "");

	parse("app.itimer{ hostname = \"web-1\" , service_name=shop,__session_id__=1}", &o, type);
	assert_string_equal(o.service, "shop");
	assert_string_equal(o.host, "web-1");
	assert_string_equal(o.labels, "");
	assert_string_equal(type, "itimer");

	parse("plain", &o, type);
	assert_string_equal(o.service, "plain");
	assert_string_equal(type, "cpu");
	parse("of.no.such.type", &o, type);
	assert_string_equal(o.service, "of.no.such.type");
	parse(".cpu", &o, type);
	assert_string_equal(o.service, ".cpu");

	/* hostile: broken, empty, not of what keys and values are made */
	parse("{}{}{,,,=,=x,a=}", &o, type);
	assert_string_equal(o.service, "");
	parse("a{b c/d=e\nf\x7fg", &o, type);
	assert_string_equal(o.service, "a");
	assert_string_equal(o.labels, "b_c_d=e_f_g");
	for (int i = 0; i < 100; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "k%02d=v,", i);
	parse(many, &o, type);
	assert_int_equal(o.labels_lost, 100 - FILM_LABELS_MAX);
}

static void test_times(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(ingest_time_parse("1767225600", &ns), 0);
	assert_int_equal(ns, 1767225600000000000ull);
	assert_int_equal(ingest_time_parse("1767225600123", &ns), 0);
	assert_int_equal(ns, 1767225600123000000ull);
	assert_int_equal(ingest_time_parse("1767225600123456", &ns), 0);
	assert_int_equal(ingest_time_parse("1767225600123456789", &ns), 0);
	assert_int_equal(ns, 1767225600123456789ull);
	for (int i = 0; i < 6; i++) {
		static const char *const bad[] = {
			"",	      "5",	     "17672256000",
			"-176722560", "1767225600s", "99999999999999999999"};

		assert_int_equal(ingest_time_parse(bad[i], &ns), -EINVAL);
	}
}

static void test_parts(void **state)
{
	static const char type[] = "multipart/form-data; boundary=\"xx\"";
	static const char body[] =
		"--xx\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n\r\n"
		"--xx\r\ncontent-disposition: form-data; name=\"profile\"; filename=\"p\"\r\n"
		"Content-Type: a/b\r\n\r\nab\r\n-c\r\n--xx--\r\n";
	size_t size = strlen(body), got;
	const uint8_t *part;

	(void)state;
	assert_int_equal(ingest_part(type, (const uint8_t *)body, size, "profile", &part, &got), 0);
	assert_int_equal(got, 6);
	assert_memory_equal(part, "ab\r\n-c", 6);
	assert_int_equal(ingest_part(type, (const uint8_t *)body, size, "other", &part, &got), 0);
	assert_int_equal(got, 0);
	assert_int_equal(ingest_part(type, (const uint8_t *)body, size, "none", &part, &got),
			 -ENOENT);
	assert_int_equal(
		ingest_part("text/plain", (const uint8_t *)body, size, "profile", &part, &got),
		-EBADMSG);
	assert_int_equal(ingest_part(NULL, (const uint8_t *)body, size, "profile", &part, &got),
			 -EBADMSG);
	for (size_t i = 0; i < size - 6; i++)
		assert_true(ingest_part(type, (const uint8_t *)body, i, "none", &part, &got) < 0);
}

/* A profile that becomes more than a thousand times as large when it is unpacked. */
static void test_bomb(void **state)
{
	size_t size = 0, piece = 1 << 20;
	char *packed = NULL, *zeros = calloc(1, piece);
	FILE *out = open_memstream(&packed, &size);
	struct pprof_reader *profile = NULL;
	struct buf b = {0};
	struct fail why;
	struct gzip gzip;

	(void)state;
	assert_non_null(zeros);
	gzip_start(&gzip, out);
	for (size_t done = 0; done <= PPROF_READER_MAX; done += piece) {
		buf_put(&b, zeros, piece);
		gzip_add(&gzip, &b);
	}
	assert_int_equal(gzip_finish(&gzip), 0);
	fclose(out);
	assert_true(size < piece);
	assert_int_equal(pprof_reader_open((const uint8_t *)packed, size, &profile, &why), -E2BIG);
	free(packed);
	free(zeros);
	buf_free(&b);
}

/* As many rows as fit into a body: it is refused before they take more memory than they should. */
static void test_too_many_rows(void **state)
{
	struct pprof_reader *profile = NULL;
	struct buf b = {0};
	struct fail why;

	(void)state;
	for (int i = 0; i < 1100000; i++)
		buf_put(&b, "\x32", 2); /* field 6, a string of 0 bytes */
	assert_int_equal(pprof_reader_open(b.at, b.count, &profile, &why), -E2BIG);
	buf_free(&b);
}

static void test_protobuf(void **state)
{
	static const uint8_t bytes[] = {0x08, 0x96, 0x01,			  /* 1: 150 */
					0x11, 1,    0,	  0,	0,    0, 0, 0, 0, /* 2: fixed64 */
					0x1a, 3,    0x01, 0x80, 0x01, /* 3: packed 1, 128 */
					0x25, 7,    0,	  0,	0};   /* 4: fixed32 */
	struct bytes message = {bytes, bytes + sizeof(bytes), false};
	struct proto_field field;
	uint64_t number;

	(void)state;
	assert_true(proto_next(&message, &field));
	assert_true(proto_next_number(&field, &number));
	assert_int_equal(number, 150);
	assert_false(proto_next_number(&field, &number));
	assert_true(proto_next(&message, &field));
	assert_int_equal(field.value, 1);
	assert_true(proto_next(&message, &field));
	assert_true(proto_next_number(&field, &number));
	assert_int_equal(number, 1);
	assert_true(proto_next_number(&field, &number));
	assert_int_equal(number, 128);
	assert_false(proto_next_number(&field, &number));
	assert_false(field.bytes.failed);
	assert_true(proto_next(&message, &field));
	assert_int_equal(field.value, 7);
	assert_false(proto_next(&message, &field));
	assert_false(message.failed);

	/* a length that reaches behind the end, field 0, a group, a tag without its end */
	for (int i = 0; i < 4; i++) {
		static const uint8_t bad[][3] = {
			{0x0a, 5, 1}, {0x00, 1, 1}, {0x0b, 0, 0}, {0xff, 0xff, 0xff}};
		struct bytes b = {bad[i], bad[i] + 3, false};

		while (proto_next(&b, &field))
			;
		assert_true(b.failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	      cmocka_unit_test(test_times),
		cmocka_unit_test(test_parts),	      cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_too_many_rows), cmocka_unit_test(test_protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
