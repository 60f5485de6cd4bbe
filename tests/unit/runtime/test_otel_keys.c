// SPDX-License-Identifier: Apache-2.0
/* Attributes of threads as a program publishes them (OTEP 4947), right and wrong. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "runtime/otel/keys.h"

static void put_attribute(struct buf *to, const char *key, struct buf *any)
{
	struct buf attribute = {0};

	proto_text(&attribute, 1, key);
	proto_message(&attribute, 2, any);
	proto_message(to, 2, &attribute);
	buf_free(&attribute);
	buf_free(any);
}

/* A process context with these names; null: a number stands there. */
static struct buf make(const char *schema, const char *const *names, size_t count)
{
	struct buf payload = {0}, any = {0}, array = {0};

	proto_text(&any, 1, schema);
	put_attribute(&payload, "threadlocal.schema_version", &any);
	for (size_t i = 0; i < count; i++) {
		struct buf value = {0};

		if (names[i])
			proto_text(&value, 1, names[i]);
		else
			proto_number(&value, 3, 7);
		proto_message(&array, 1, &value);
		buf_free(&value);
	}
	proto_message(&any, 5, &array);
	put_attribute(&payload, "threadlocal.attribute_key_map", &any);
	buf_free(&array);
	assert_false(payload.failed);
	return payload;
}

static const char *const names[] = {"http.route", NULL, "a=b,c\n", "user"};

static void test_names(void **state)
{
	struct buf payload = make("tls_v1", names, 4);
	static struct otel_keys keys;
	uint8_t *copy = malloc(payload.count);

	(void)state;
	assert_int_equal(otel_keys_parse(payload.at, payload.count, &keys), 0);
	assert_int_equal(keys.count, 4);
	assert_string_equal(keys.names[0], "http.route");
	assert_string_equal(keys.names[1], "");
	assert_string_equal(keys.names[2], "a_b_c_");
	assert_string_equal(keys.names[3], "user");
	/* cut anywhere, and with each byte changed */
	for (size_t i = 0; i < payload.count; i++) {
		memcpy(copy, payload.at, payload.count);
		otel_keys_parse(copy, i, &keys);
		copy[i] ^= 0xff;
		otel_keys_parse(copy, payload.count, &keys);
		assert_true(keys.count <= 4);
	}
	free(copy);
	buf_free(&payload);
	payload = make("go_pprof_labels_v1", names, 4);
	assert_int_equal(otel_keys_parse(payload.at, payload.count, &keys), -ENOTSUP);
	assert_int_equal(keys.count, 0);
	buf_free(&payload);
	assert_int_equal(otel_keys_parse("", 0, &keys), -ENOENT);
	assert_int_equal(otel_keys_parse("\x12\x7f", 2, &keys), -EBADMSG);
}

static void test_most_names(void **state)
{
	static const char *many[OTEL_KEYS_MAX + 9];
	static struct otel_keys keys;
	struct buf payload;

	(void)state;
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
		many[i] = "a name that is longer than any that a program would choose for an "
			  "attribute";
	payload = make("tlsdesc_v1_dev", many, sizeof(many) / sizeof(*many));
	assert_int_equal(otel_keys_parse(payload.at, payload.count, &keys), 0);
	assert_int_equal(keys.count, OTEL_KEYS_MAX);
	assert_int_equal(strlen(keys.names[OTEL_KEYS_MAX - 1]), OTEL_KEY_BYTES);
	buf_free(&payload);
}

#define FORMAT(bytes) \
	otel_labels_format(&keys, (const uint8_t *)(bytes), sizeof(bytes) - 1, text, &unknown)

static void test_labels(void **state)
{
	struct buf payload = make("tls_v1", names, 4);
	char text[OTEL_TEXT_MAX];
	struct otel_keys keys;
	size_t unknown;

	(void)state;
	assert_int_equal(otel_keys_parse(payload.at, payload.count, &keys), 0);
	buf_free(&payload);
	/* in the order of the keys */
	assert_int_equal(FORMAT("\3\1"
				"7"
				"\0\4/buy"),
			 2);
	assert_string_equal(text, "http.route=/buy,user=7");
	/* the last value; a number without a name is left out, and one beyond all is counted */
	assert_int_equal(FORMAT("\0\2/a"
				"\1\1x"
				"\4\1y"
				"\0\2/\n"),
			 1);
	assert_string_equal(text, "http.route=/ ");
	assert_int_equal(unknown, 1);
	/* what is left holds no whole attribute */
	assert_int_equal(FORMAT("\3\1"
				"7"
				"\0\5/buy"),
			 1);
	assert_string_equal(text, "user=7");
	assert_int_equal(FORMAT("\3"), 0);
	assert_string_equal(text, "");
	assert_int_equal(FORMAT("\3\0"), 1);
	assert_string_equal(text, "user=");
}

static void test_most_labels(void **state)
{
	static struct otel_keys keys = {.count = OTEL_KEYS_MAX};
	uint8_t attributes[2 * OTEL_KEYS_MAX];
	char text[OTEL_TEXT_MAX];
	size_t unknown;

	(void)state;
	for (size_t i = 0; i < OTEL_KEYS_MAX; i++) {
		snprintf(keys.names[i], sizeof(keys.names[i]), "key%03zu", i);
		attributes[2 * i] = (uint8_t)i;
		attributes[2 * i + 1] = 0;
	}
	assert_int_equal(otel_labels_format(&keys, attributes, sizeof(attributes), text, &unknown),
			 OTEL_KEYS_MAX);
	assert_string_equal(text + strlen(text) - strlen(",key031=,…"), ",key031=,…");
	assert_memory_equal(text, "key000=,key001=,", 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_most_names),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_most_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
