// SPDX-License-Identifier: Apache-2.0
#include "show/inspect.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"
#include "query/shown_text.h"

static void format_address(char to[24], uint64_t address)
{
	snprintf(to, 24, "0x%" PRIx64, address);
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void put_json(struct json *j, const char *key, struct shown_walk *walk,
		     const struct shown *node);

static void put_members(struct json *j, struct shown_walk *walk, const struct shown *node)
{
	for (uint32_t i = 0; i < node->children; i++) {
		const struct shown *member = shown_next(walk);

		if (!member)
			return;
		put_json(j,
			 node->kind == SHOWN_OBJECT || node->kind == SHOWN_VARIANT
				 ? member->name ? member->name : ""
				 : NULL,
			 walk, member);
	}
}

static bool is_key(const struct shown *node)
{
	return node->status == SHOWN_VALUE &&
	       (node->kind == SHOWN_TEXT || node->kind == SHOWN_NAME ||
		node->kind == SHOWN_SIGNED || node->kind == SHOWN_UNSIGNED);
}

static bool are_equal(const struct shown *a, const struct shown *b)
{
	return a->kind == b->kind && a->number == b->number && a->size == b->size &&
	       !memcmp(a->size ? a->text : "", b->size ? b->text : "", a->size);
}

/* Are all keys texts or integers, and none there twice? Equal ones stand behind each other. */
static bool has_keys(struct shown_walk walk, const struct shown *node)
{
	const struct shown *last = NULL;

	for (uint32_t i = 0; i < node->children; i++) {
		const struct shown *child = shown_next(&walk);

		if (!child || (i % 2 == 0 && (!is_key(child) || (last && are_equal(last, child)))))
			return false;
		last = i % 2 == 0 ? child : last;
		shown_pass(&walk, child);
	}
	return true;
}

/* The key of an entry as a text, to be freed; null: no memory. */
static char *key_of(const struct shown *node)
{
	char *text = NULL;

	if (node->kind == SHOWN_TEXT || node->kind == SHOWN_NAME)
		return shown_text(node);
	if (node->kind == SHOWN_SIGNED)
		return asprintf(&text, "%" PRId64, (int64_t)node->number) < 0 ? NULL : text;
	return asprintf(&text, "%" PRIu64, node->number) < 0 ? NULL : text;
}

/* A map: an object, as Go's package encoding/json writes it, or a list of keys with values. */
static void put_pairs(struct json *j, const char *key, struct shown_walk *walk,
		      const struct shown *node)
{
	bool is_object = has_keys(*walk, node);

	json_open(j, key, is_object ? '{' : '[');
	for (uint32_t i = 0; i + 1 < node->children; i += 2) {
		const struct shown *one = shown_next(walk), *value;
		char *name = NULL;

		if (!one)
			break;
		if (is_object)
			name = key_of(one);
		else
			json_open(j, NULL, '[');
		if (!is_object)
			put_json(j, NULL, walk, one);
		value = shown_next(walk);
		if (value)
			put_json(j, is_object ? name ? name : "" : NULL, walk, value);
		if (!is_object)
			json_close(j, ']');
		free(name);
	}
	json_close(j, is_object ? '}' : ']');
}

static void put_value(struct json *j, const char *key, struct shown_walk *walk,
		      const struct shown *node)
{
	char short_text[24];

	switch (node->kind) {
	case SHOWN_SIGNED:
	case SHOWN_CHAR:
		json_i64(j, key, (int64_t)node->number);
		break;
	case SHOWN_UNSIGNED:
		json_u64(j, key, node->number);
		break;
	case SHOWN_REAL:
		if (isfinite(node->real))
			json_double(j, key, node->real);
		else
			json_text(j, key,
				  isnan(node->real)  ? "NaN"
				  : node->real > 0.0 ? "Infinity"
						     : "-Infinity");
		break;
	case SHOWN_BOOL:
		json_bool(j, key, node->number != 0);
		break;
	case SHOWN_TEXT:
	case SHOWN_NAME:
		json_bytes(j, key, node->text, node->size);
		break;
	case SHOWN_ADDRESS:
		format_address(short_text, node->number);
		json_text(j, key, short_text);
		break;
	case SHOWN_OBJECT:
	case SHOWN_VARIANT:
		json_open(j, key, '{');
		put_members(j, walk, node);
		json_close(j, '}');
		break;
	case SHOWN_PAIRS:
		put_pairs(j, key, walk, node);
		break;
	case SHOWN_LIST:
		json_open(j, key, '[');
		put_members(j, walk, node);
		json_close(j, ']');
		break;
	case SHOWN_NOTHING:
		json_null(j, key);
		break;
	}
}

/* Of some lists it is only known that there is more than what is shown. */
static bool has_length(const struct shown *node)
{
	return node->status != SHOWN_TRUNCATED || node->length;
}

/* Within values, one that could not be had is an object with its status. */
static void put_json(struct json *j, const char *key, struct shown_walk *walk,
		     const struct shown *node)
{
	if (node->status == SHOWN_VALUE || node->status == SHOWN_NIL) {
		if (node->status == SHOWN_NIL)
			json_null(j, key);
		else
			put_value(j, key, walk, node);
		return;
	}
	json_open(j, key, '{');
	json_text(j, "status", shown_status_words(node->status));
	if (node->kind != SHOWN_NOTHING)
		put_value(j, "value", walk, node);
	if (node->status == SHOWN_TRUNCATED && node->kind != SHOWN_NOTHING && has_length(node))
		json_u64(j, "len", node->length);
	json_close(j, '}');
}

static void put_list(struct json *j, const char *key, const struct shown_tree *tree)
{
	struct shown_walk walk = {tree, 0};
	const struct shown *node;

	json_open(j, key, '[');
	while ((node = shown_next(&walk))) {
		json_open(j, NULL, '{');
		json_text(j, "name", node->name ? node->name : "");
		json_text(j, "type", node->type ? node->type : "?");
		if (node->status == SHOWN_NIL)
			json_null(j, "value");
		else if (node->kind != SHOWN_NOTHING)
			put_value(j, "value", &walk, node);
		if (((node->kind == SHOWN_LIST || node->kind == SHOWN_PAIRS) && has_length(node)) ||
		    (node->kind == SHOWN_TEXT && node->status == SHOWN_TRUNCATED))
			json_u64(j, "len", node->length);
		if (node->status != SHOWN_VALUE)
			json_text(j, "status", shown_status_words(node->status));
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* The seconds are those of many lines: they are written once. */
struct second {
	bool is_known;
	time_t number;
	char text[40];
};

static void format_time(char *to, size_t size, uint64_t wall, const char *format,
			struct second *second)
{
	time_t seconds = (time_t)(wall / 1000000000);
	uint32_t rest = (uint32_t)(wall % 1000000000);
	struct tm tm;
	size_t used;

	if (!second->is_known || second->number != seconds) {
		gmtime_r(&seconds, &tm);
		second->is_known = strftime(second->text, sizeof(second->text), format, &tm) != 0;
		second->number = seconds;
	}
	used = strlen(second->text);
	if (used + sizeof(".123456789") > size)
		used = 0;
	memcpy(to, second->text, used);
	to[used] = '.';
	for (size_t i = 9; i; i--) {
		to[used + i] = (char)('0' + rest % 10);
		rest /= 10;
	}
	to[used + 10] = 0;
}

void inspect_print_json(FILE *out, const struct inspect_line *line)
{
	static const struct shown_tree none;
	static _Thread_local struct second second;
	char time[64], buffer[4096];
	struct json j = {.out = out, .buffer = buffer, .room = sizeof(buffer)};

	format_time(time, sizeof(time) - 1, line->wall, "%Y-%m-%dT%H:%M:%S", &second);
	strcat(time, "Z");
	json_open(&j, NULL, '{');
	json_text(&j, "time", time);
	json_u64(&j, "pid", line->pid);
	json_u64(&j, "tid", line->tid);
	json_text(&j, "comm", line->comm);
	if (line->goroutine)
		json_u64(&j, "goroutine", line->goroutine);
	json_text(&j, "function", line->function);
	if (line->place) {
		json_text(&j, "file", line->file ? line->file : "");
		json_u64(&j, "line", line->number);
		json_bool(&j, "optimised", line->is_optimised);
		put_list(&j, "variables", line->arguments);
	}
	put_list(&j, "args", line->place ? &none : line->arguments);
	put_list(&j, "results", line->results);
	if (line->has_end)
		json_u64(&j, "latency_ns", line->latency);
	else
		json_null(&j, "latency_ns");
	if (line->request) {
		json_text(&j, "request", line->request);
		json_text(&j, "endpoint", line->endpoint);
	}
	if (line->stack) {
		json_open(&j, "stack", '[');
		for (size_t i = 0; i < line->stack_count; i++)
			json_text(&j, NULL, line->stack[i]);
		json_close(&j, ']');
	}
	json_close(&j, '}');
	json_flush(&j);
	putc_unlocked('\n', out);
}

bool inspect_print_text(FILE *out, const struct inspect_line *line)
{
	static _Thread_local struct second second;
	char time[64], latency[32];
	bool is_short;

	format_time(time, sizeof(time), line->wall, "%H:%M:%S", &second);
	/* microseconds are enough here */
	time[strlen(time) - 3] = 0;
	fprintf(out, "%s ", time);
	text_print_safe(out, line->comm);
	fprintf(out, "[%u:%u]", line->pid, line->tid);
	if (line->goroutine)
		fprintf(out, " goroutine %" PRIu64, line->goroutine);
	putc(' ', out);
	if (line->place) {
		text_print_safe(out, line->place);
		putc(' ', out);
	}
	text_print_safe(out, line->function);
	fputs(!line->place ? "(" : line->is_optimised ? ", optimised: " : ": ", out);
	is_short = shown_print_list(out, line->arguments);
	if (!line->place)
		putc(')', out);
	if (line->results->nodes.count) {
		fputs(" = ", out);
		is_short |= shown_print_list(out, line->results);
	}
	if (line->has_end) {
		text_duration(latency, sizeof(latency), line->latency);
		fprintf(out, "  %s", latency);
	} else if (line->waits_for_end && !line->place) {
		fputs("  (its end was not seen)", out);
	}
	if (line->request) {
		fputs("  for ", out);
		text_print_safe(out, line->endpoint);
		putc(' ', out);
		text_print_safe(out, line->request);
	}
	putc('\n', out);
	for (size_t i = 1; line->stack && i < line->stack_count; i++) {
		fputs("    from ", out);
		text_print_safe(out, line->stack[i]);
		putc('\n', out);
	}
	return is_short;
}
