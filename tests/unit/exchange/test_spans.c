// SPDX-License-Identifier: Apache-2.0
/* Spans of OTLP, as protobuf and as JSON, good ones and bad ones; and their tree. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "exchange/otlp/spans.h"

#define NOW   1800000000000000000ull
#define START 1700000000000000000ull

static const uint8_t trace[SPAN_TRACE] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
					  0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};

static void put_attribute(struct buf *to, unsigned int field, const char *key, const char *text,
			  uint64_t number)
{
	struct buf inner = {0}, value = {0};

	if (text)
		proto_text(&value, 1, text);
	else
		proto_number(&value, 3, number);
	proto_text(&inner, 1, key);
	proto_message(&inner, 2, &value);
	proto_message(to, field, &inner);
	buf_free(&inner);
	buf_free(&value);
}

static void put_span(struct buf *scope, size_t trace_size, uint8_t id, uint8_t parent,
		     uint64_t start, uint64_t end)
{
	struct buf span = {0}, status = {0};
	uint8_t bytes[SPAN_ID] = {0};

	proto_bytes(&span, 1, trace, trace_size);
	bytes[7] = id;
	proto_bytes(&span, 2, bytes, sizeof(bytes));
	bytes[7] = parent;
	if (parent)
		proto_bytes(&span, 4, bytes, sizeof(bytes));
	proto_text(&span, 5, "GET /orders");
	proto_number(&span, 6, SPAN_KIND_SERVER);
	proto_fixed64(&span, 7, start);
	proto_fixed64(&span, 8, end);
	put_attribute(&span, 9, "http.route", "/orders", 0);
	put_attribute(&span, 9, "thread.id", NULL, 4711);
	proto_number(&status, 3, SPAN_STATUS_ERROR);
	proto_message(&span, 15, &status);
	proto_message(scope, 2, &span);
	buf_free(&span);
	buf_free(&status);
}

/* The resource stands behind its spans: senders may do so. */
static void make_body(struct buf *body)
{
	struct buf of_resource = {0}, resource = {0}, scope = {0};

	put_span(&scope, SPAN_TRACE, 1, 0, START, START + 1000);
	put_span(&scope, SPAN_TRACE, 2, 1, START + 100, START + 200);
	put_span(&scope, SPAN_TRACE - 1, 3, 1, START, START);
	put_span(&scope, SPAN_TRACE, 0, 1, START, START);
	put_span(&scope, SPAN_TRACE, 4, 1, START, START - 1);
	put_span(&scope, SPAN_TRACE, 5, 1, START, NOW + START);
	proto_message(&of_resource, 2, &scope);
	put_attribute(&resource, 1, "service.name", "shop", 0);
	put_attribute(&resource, 1, "host.name", "web-1", 0);
	put_attribute(&resource, 1, "process.pid", NULL, 1234);
	proto_message(&of_resource, 1, &resource);
	proto_message(body, 1, &of_resource);
	buf_free(&of_resource);
	buf_free(&resource);
	buf_free(&scope);
}

static void check(const struct otlp_spans *spans)
{
	const struct span *first = &spans->all.at[0], *second = &spans->all.at[1];

	assert_int_equal(spans->all.count, 2);
	assert_memory_equal(first->trace, trace, SPAN_TRACE);
	assert_int_equal(first->id[7], 1);
	assert_int_equal(first->parent[7], 0);
	assert_int_equal(first->start, START);
	assert_int_equal(first->end, START + 1000);
	assert_int_equal(first->pid, 1234);
	assert_int_equal(first->tid, 4711);
	assert_int_equal(first->kind, SPAN_KIND_SERVER);
	assert_int_equal(first->status, SPAN_STATUS_ERROR);
	assert_string_equal(first->host, "web-1");
	assert_string_equal(first->service, "shop");
	assert_string_equal(first->name, "GET /orders");
	assert_int_equal(second->parent[7], 1);
	assert_int_equal(spans->rejected, 4);
	assert_non_null(spans->reason);
}

static void test_protobuf(void **state)
{
	struct otlp_spans spans = {.now = NOW};
	struct buf body = {0};
	struct fail why = {0};

	(void)state;
	make_body(&body);
	assert_int_equal(otlp_spans_protobuf(&spans, body.at, body.count, &why), 0);
	check(&spans);
	otlp_spans_free(&spans);
	/* cut anywhere, it is what stands before, or damaged */
	for (size_t size = 0; size < body.count; size++) {
		uint8_t *copy = malloc(size + 1);

		memcpy(copy, body.at, size);
		spans = (struct otlp_spans){.now = NOW};
		assert_int_equal(otlp_spans_protobuf(&spans, copy, size, &why),
				 size ? -EBADMSG : 0);
		otlp_spans_free(&spans);
		free(copy);
	}
	buf_free(&body);
}

#define IDS		  "\"traceId\": \"4BF92F3577B34da6a3ce929d0e0e4736\", \"spanId\": \"000000000000000"
#define TIMES(start, end) "\", \"startTimeUnixNano\": " start ", \"endTimeUnixNano\": " end "}"

static const char json[] = "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [{" IDS
			   "1\", \"name\": \"GET /orders\", \"kind\": 2, \"status\": {\"code\": "
			   "2}, \"attributes\":"
			   " [{\"key\": \"thread.id\", \"value\": {\"intValue\": \"4711\"}}], "
			   "\"parentSpanId\": "
			   "\"" TIMES("\"1700000000000000000\"", "1700000000000001000") ", {" IDS "2\", \"parentSpanId\": \"0000000000000001" TIMES(
				   "1700000000000000100",
				   "\"1700000000000000200\"") ", {" IDS
							      "g" TIMES(
								      "1700000000000000"
								      "000",
								      "1700000000000000"
								      "000") ", "
									     "{\"traceI"
									     "d\": 7, "
									     "\"name\":"
									     " ["
									     "\"\\u0000"
									     "\"]}, "
									     "null,"
									     " {" IDS "3" TIMES(
										     "\"x\"",
										     "-"
										     "1") "]}], "
											  "\"resour"
											  "ce\": "
											  "{\"attri"
											  "butes\":"
											  " ["
											  "{\"key\""
											  ": "
											  "\"servic"
											  "e."
											  "name\", "
											  "\"value"
											  "\": "
											  "{\"strin"
											  "gValue\""
											  ": "
											  "\"shop\""
											  "}},"
											  "{\"key\""
											  ": "
											  "\"host."
											  "name\", "
											  "\"value"
											  "\": "
											  "{\"strin"
											  "gValue\""
											  ": "
											  "\"web-"
											  "1\"}},"
											  "{\"key\""
											  ": "
											  "\"proces"
											  "s.pid\","
											  " \"value"
											  "\": "
											  "{\"intVa"
											  "lue\": "
											  "1234}}]}"
											  "}]}";

static void test_json(void **state)
{
	static const char *const bad[] = {"",		"[]", "{", "null", "{\"resourceSpans\": 1}",
					  "{\"a\": []}"};
	struct otlp_spans spans = {.now = NOW};
	struct fail why = {0};

	(void)state;
	assert_int_equal(otlp_spans_json(&spans, (const uint8_t *)json, strlen(json), &why), 0);
	check(&spans);
	otlp_spans_free(&spans);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spans = (struct otlp_spans){.now = NOW};
		assert_int_equal(
			otlp_spans_json(&spans, (const uint8_t *)bad[i], strlen(bad[i]), &why),
			-EBADMSG);
		otlp_spans_free(&spans);
	}
	spans = (struct otlp_spans){.now = NOW};
	assert_int_equal(
		otlp_spans_json(&spans, (const uint8_t *)json, OTLP_SPANS_JSON_MAX + 1ul, &why),
		-E2BIG);
	otlp_spans_free(&spans);
}

static void test_too_many_are_counted(void **state)
{
	struct otlp_resource resource = {.host = "", .service = ""};
	struct otlp_spans spans = {.now = NOW};
	struct span span = {.trace = {1}, .start = START, .end = START, .name = ""};

	(void)state;
	for (unsigned int i = 1; i <= OTLP_SPANS_MAX + 5; i++) {
		memcpy(span.id, &i, sizeof(i));
		assert_true(otlp_spans_add(&spans, &resource, &span));
	}
	assert_int_equal(spans.all.count, OTLP_SPANS_MAX);
	assert_int_equal(spans.rejected, 5);
	otlp_spans_free(&spans);
}

/* Ids and parents as digits of a text, in the order in which they are found. */
static void check_tree(const char *ids, const char *parents, const char *wanted)
{
	struct spans_found found = {.count = strlen(ids)};
	struct span_place *places;
	char told[64] = "";

	found.at = calloc(found.count, sizeof(*found.at));
	for (size_t i = 0; i < found.count; i++) {
		found.at[i].id[0] = (uint8_t)ids[i];
		found.at[i].parent[0] = parents[i] == '-' ? 0 : (uint8_t)parents[i];
	}
	places = spans_tree(&found);
	assert_non_null(places);
	for (size_t i = 0; i < found.count; i++)
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%c%u ",
			 ids[places[i].span], places[i].depth);
	assert_string_equal(told, wanted);
	free(places);
	free(found.at);
}

static void test_tree(void **state)
{
	(void)state;
	check_tree("abcd", "-aab", "a0 b1 d2 c1 ");
	/* children before their parents; a parent that is not there */
	check_tree("cab", "b-a", "a0 b1 c2 ");
	check_tree("ab", "zz", "a0 b0 ");
	/* each is there once, also of circles */
	check_tree("a", "a", "a0 ");
	check_tree("abc", "cab", "b0 c1 a2 ");
	check_tree("xabc", "ccab", "a0 b1 c2 x3 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protobuf),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_too_many_are_counted),
		cmocka_unit_test(test_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
