// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* All kinds of values, written by way of a buffer of that size; 0: none. To be freed. */
static char *written(size_t room)
{
	static const char bytes[] = {'a', 0, '<', '"', '\\', (char)0xff, (char)0xc3, (char)0xa9};
	char *text = NULL, buffer[64];
	size_t size;
	struct json j = {
		.out = open_memstream(&text, &size),
		.buffer = room ? buffer : NULL,
		.room = room,
	};

	assert_non_null(j.out);
	assert_true(room <= sizeof(buffer));
	json_open(&j, NULL, '{');
	json_bytes(&j, "bytes", bytes, sizeof(bytes));
	json_bytes(&j, "none", NULL, 0);
	json_text(&j, "a \"key\"", "longer than some of the buffers are");
	json_open(&j, "list", '[');
	json_u64(&j, NULL, UINT64_MAX);
	json_i64(&j, NULL, INT64_MIN);
	json_thousandths(&j, NULL, -1500);
	json_double(&j, NULL, 0.25);
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_close(&j, ']');
	json_close(&j, '}');
	json_flush(&j);
	assert_int_equal(fclose(j.out), 0);
	return text;
}

static void test_any_buffer_writes_the_same(void **state)
{
	static const char expected[] =
		"{\"bytes\":\"a\xef\xbf\xbd\\u003c\\\"\\\\\xef\xbf\xbd\xc3\xa9\",\"none\":\"\","
		"\"a \\\"key\\\"\":\"longer than some of the buffers are\","
		"\"list\":[18446744073709551615,-9223372036854775808,-1.500,0.25,true,null]}";

	(void)state;
	for (size_t room = 0; room <= 64; room++) {
		char *text = written(room);

		assert_string_equal(text, expected);
		free(text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_buffer_writes_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
