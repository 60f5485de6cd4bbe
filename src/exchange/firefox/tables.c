// SPDX-License-Identifier: Apache-2.0
#include "exchange/firefox/tables.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "film/names.h"

enum {
	RESOURCE_LIBRARY = 1,
};

/* -- numbers ----------------------------------------------------------------------------------- */

/* Of a text; as all numbers here, FIREFOX_NONE where there is no memory. */
static uint32_t firefox_string(struct firefox_shared *shared, const char *text)
{
	uint64_t key = hash_bytes(text, strlen(text));
	const uint64_t *known = map_get(&shared->string_of, key);
	char *safe = known ? NULL : text_safe(text, "");

	if (known)
		return (uint32_t)*known;
	if (!safe || !vec_push(&shared->strings, safe)) {
		free(safe);
		return FIREFOX_NONE;
	}
	return map_put(&shared->string_of, key, shared->strings.count - 1)
		       ? (uint32_t)(shared->strings.count - 1)
		       : FIREFOX_NONE;
}

static bool number_source(struct firefox_shared *shared, const char *path, uint32_t *number)
{
	uint32_t string;
	const uint64_t *known;

	*number = FIREFOX_NONE;
	if (!*path || *path == '[')
		return true;
	string = firefox_string(shared, path);
	if (string == FIREFOX_NONE)
		return false;
	known = map_get(&shared->source_of, string);
	*number = known ? (uint32_t)*known : (uint32_t)shared->sources.count;
	return known ||
	       (vec_push(&shared->sources, string) && map_put(&shared->source_of, string, *number));
}

static bool number_lib(struct firefox_shared *shared, uint32_t image, uint32_t *number)
{
	const uint64_t *known = map_get(&shared->lib_of, image);

	*number = known ? (uint32_t)*known : (uint32_t)shared->libs.count;
	return known ||
	       (vec_push(&shared->libs, image) && map_put(&shared->lib_of, image, *number));
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The resource of an image's functions; those without an image have none. */
static bool number_resource(struct firefox_tables *t, uint32_t image, uint32_t *number)
{
	const uint64_t *known = map_get(&t->resource_of, image);
	struct firefox_resource resource;

	*number = FIREFOX_NONE;
	if (!image)
		return true;
	*number = known ? (uint32_t)*known : (uint32_t)t->resources.count;
	if (known)
		return true;
	resource.name = firefox_string(t->shared, base_of(t->shared->film->images[image].path));
	return resource.name != FIREFOX_NONE && number_lib(t->shared, image, &resource.lib) &&
	       vec_push(&t->resources, resource) && map_put(&t->resource_of, image, *number);
}

/* key: which function of the film it is, or which frame if it has none. */
static bool number_function(struct firefox_tables *t, uint64_t key, const char *name,
			    uint32_t image, uint32_t source, uint32_t *number)
{
	const uint64_t *known = map_get(&t->function_of, key);
	struct firefox_function function = {.source = source};

	*number = known ? (uint32_t)*known : (uint32_t)t->functions.count;
	if (known)
		return true;
	function.name = firefox_string(t->shared, name);
	return function.name != FIREFOX_NONE && number_resource(t, image, &function.resource) &&
	       vec_push(&t->functions, function) && map_put(&t->function_of, key, *number);
}

/* A frame as it is shown: function 0 is the place of a frame that has no name. */
static bool add_frame(struct firefox_tables *t, uint32_t id, uint32_t function, const char *file,
		      uint32_t line, uint32_t depth)
{
	const struct film *film = t->shared->film;
	const struct film_frame *of = &film->frames[id];
	struct firefox_frame frame = {.line = line, .depth = depth, .category = of->kind};
	char place[256];
	const char *name = function ? film->functions[function].name
				    : name_of_place(film, of, place, sizeof(place));
	uint64_t key = function ? function : film->function_count + 1ull + id;

	if (frame.category > FIREFOX_CATEGORY_LATER)
		frame.category = FIREFOX_CATEGORY_LATER;
	return number_source(t->shared, file, &frame.source) &&
	       number_function(t, key, name, of->image, frame.source, &frame.function) &&
	       vec_push(&t->frames, frame);
}

/* A frame and those that its function was inlined into, outermost first, follow one another. */
static bool number_frames(struct firefox_tables *t, uint32_t id, uint32_t *first, uint32_t *count)
{
	const struct film_frame *frame = &t->shared->film->frames[id];
	const uint64_t *known = map_get(&t->frame_of, id);
	size_t inlined = 0;
	const struct film_inline *outer = film_inlines_of(t->shared->film, id, &inlined);
	bool is_done = true;

	*count = (uint32_t)inlined + 1;
	*first = known ? (uint32_t)*known : (uint32_t)t->frames.count;
	if (known)
		return true;
	for (size_t i = inlined; is_done && i--;)
		is_done = add_frame(t, id, outer[i].function, outer[i].file, outer[i].line,
				    (uint32_t)(inlined - 1 - i));
	return is_done &&
	       add_frame(t, id, frame->function, frame->file, frame->line, (uint32_t)inlined) &&
	       map_put(&t->frame_of, id, *first);
}

/* Appends a stack's leaf, and the frames that it was inlined into, behind prefix. */
static bool add_stack(struct firefox_tables *t, uint32_t stack, uint32_t *prefix)
{
	uint32_t first, count;

	if (!number_frames(t, t->shared->stacks[stack].frame, &first, &count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!vec_push(&t->stacks, (struct firefox_stack){first + i, *prefix}))
			return false;
		*prefix = (uint32_t)(t->stacks.count - 1);
	}
	return map_put(&t->stack_of, stack, *prefix);
}

/* Labels are no code. */
static bool is_shown(const struct firefox_tables *t, uint32_t stack)
{
	return t->shared->film->frames[t->shared->stacks[stack].frame].kind != FILM_FRAME_LABEL;
}

uint32_t firefox_stack(struct firefox_tables *t, uint32_t stack, bool *is_empty)
{
	uint32_t prefix = FIREFOX_NONE;
	vec(uint32_t) path = {0};
	bool is_done = true;

	for (; is_done && stack; stack = t->shared->stacks[stack].parent) {
		const uint64_t *known = map_get(&t->stack_of, stack);

		if (known) {
			prefix = (uint32_t)*known;
			break;
		}
		is_done = !is_shown(t, stack) || vec_push(&path, stack);
	}
	*is_empty = is_done && !path.count && prefix == FIREFOX_NONE;
	while (is_done && path.count)
		is_done = add_stack(t, path.at[--path.count], &prefix);
	vec_free(&path);
	return is_done ? prefix : FIREFOX_NONE;
}

/* -- what is written --------------------------------------------------------------------------- */

static void put_index(struct json *j, uint32_t number)
{
	if (number == FIREFOX_NONE)
		json_null(j, NULL);
	else
		json_u64(j, NULL, number);
}

/* A column: `expression` of each row. */
#define PUT_COLUMN(j, name, rows, put, expression) \
	do {                                       \
		json_open(j, name, '[');           \
		vec_foreach (rows, row)            \
			put(j, expression);        \
		json_close(j, ']');                \
	} while (0)

static void put_number(struct json *j, uint64_t number)
{
	json_u64(j, NULL, number);
}

static void put_integer(struct json *j, int64_t number)
{
	json_i64(j, NULL, number);
}

static void put_line(struct json *j, uint32_t line)
{
	put_index(j, line ? line : FIREFOX_NONE);
}

/* Columns that have the same in each row. */
static void put_same(struct json *j, const char *name, size_t count, int64_t number)
{
	json_open(j, name, '[');
	while (count--)
		json_i64(j, NULL, number);
	json_close(j, ']');
}

static void put_falses(struct json *j, const char *name, size_t count)
{
	json_open(j, name, '[');
	while (count--)
		json_bool(j, NULL, false);
	json_close(j, ']');
}

static void put_nulls(struct json *j, const char *name, size_t count)
{
	json_open(j, name, '[');
	while (count--)
		json_null(j, NULL);
	json_close(j, ']');
}

static void put_frames(struct json *j, const struct firefox_tables *t)
{
	json_open(j, "frameTable", '{');
	put_same(j, "address", t->frames.count, -1);
	PUT_COLUMN(j, "inlineDepth", &t->frames, put_number, row->depth);
	PUT_COLUMN(j, "category", &t->frames, put_number, row->category);
	put_same(j, "subcategory", t->frames.count, 0);
	PUT_COLUMN(j, "func", &t->frames, put_number, row->function);
	put_nulls(j, "nativeSymbol", t->frames.count);
	put_nulls(j, "innerWindowID", t->frames.count);
	PUT_COLUMN(j, "line", &t->frames, put_line, row->line);
	put_nulls(j, "column", t->frames.count);
	json_u64(j, "length", t->frames.count);
	json_close(j, '}');
}

static void put_functions(struct json *j, const struct firefox_tables *t)
{
	json_open(j, "funcTable", '{');
	PUT_COLUMN(j, "name", &t->functions, put_number, row->name);
	put_falses(j, "isJS", t->functions.count);
	put_falses(j, "relevantForJS", t->functions.count);
	PUT_COLUMN(j, "resource", &t->functions, put_integer,
		   row->resource == FIREFOX_NONE ? -1 : (int64_t)row->resource);
	PUT_COLUMN(j, "source", &t->functions, put_index, row->source);
	put_nulls(j, "lineNumber", t->functions.count);
	put_nulls(j, "columnNumber", t->functions.count);
	json_u64(j, "length", t->functions.count);
	json_close(j, '}');
}

static void put_resources(struct json *j, const struct firefox_tables *t)
{
	json_open(j, "resourceTable", '{');
	PUT_COLUMN(j, "lib", &t->resources, put_number, row->lib);
	PUT_COLUMN(j, "name", &t->resources, put_number, row->name);
	put_nulls(j, "host", t->resources.count);
	put_same(j, "type", t->resources.count, RESOURCE_LIBRARY);
	json_u64(j, "length", t->resources.count);
	json_close(j, '}');
}

/* Tables that have no rows here. */
static void put_empty(struct json *j, const char *name, const char *const *columns)
{
	json_open(j, name, '{');
	for (; *columns; columns++) {
		json_open(j, *columns, '[');
		json_close(j, ']');
	}
	json_u64(j, "length", 0);
	json_close(j, '}');
}

void firefox_put_tables(struct json *j, const struct firefox_tables *t)
{
	static const char *const symbols[] = {"libIndex", "address", "name", "functionSize", NULL};
	static const char *const markers[] = {"data",  "name",	   "startTime", "endTime",
					      "phase", "category", NULL};

	json_open(j, "stackTable", '{');
	PUT_COLUMN(j, "frame", &t->stacks, put_number, row->frame);
	PUT_COLUMN(j, "prefix", &t->stacks, put_index, row->prefix);
	json_u64(j, "length", t->stacks.count);
	json_close(j, '}');
	put_frames(j, t);
	put_functions(j, t);
	put_resources(j, t);
	put_empty(j, "nativeSymbols", symbols);
	put_empty(j, "markers", markers);
}

/*
 * What Breakpad calls a module: the first 16 bytes of its build id as a GUID, of which the first
 * three numbers are little endian, and an age of 0.
 */
static void put_breakpad_id(struct json *j, const struct film_image *image)
{
	static const uint8_t order[] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	uint8_t guid[sizeof(order)] = {0};
	char text[2 * sizeof(guid) + 2];
	size_t length;

	for (size_t i = 0; i < sizeof(order); i++)
		guid[i] = order[i] < image->build_id_size ? image->build_id[order[i]] : 0;
	text_hex(text, sizeof(text), guid, sizeof(guid));
	length = strlen(text);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
	text[length] = '0';
	text[length + 1] = 0;
	json_text(j, "breakpadId", image->build_id_size ? text : "");
}

static void put_lib(struct json *j, const struct film *film, uint32_t id)
{
	const struct film_image *image = &film->images[id];
	char code_id[2 * FILM_BUILD_ID_MAX + 1];

	json_open(j, NULL, '{');
	json_text(j, "arch", film->info.arch);
	json_text(j, "name", base_of(image->path));
	json_text(j, "path", image->path);
	json_text(j, "debugName", base_of(image->path));
	json_text(j, "debugPath", image->path);
	put_breakpad_id(j, image);
	text_hex(code_id, sizeof(code_id), image->build_id, image->build_id_size);
	if (*code_id)
		json_text(j, "codeId", code_id);
	else
		json_null(j, "codeId");
	json_close(j, '}');
}

void firefox_put_shared(struct json *j, const struct firefox_shared *shared)
{
	json_open(j, "libs", '[');
	vec_foreach (&shared->libs, image)
		put_lib(j, shared->film, *image);
	json_close(j, ']');
	json_open(j, "shared", '{');
	json_open(j, "stringArray", '[');
	vec_foreach (&shared->strings, string)
		json_text(j, NULL, *string);
	json_close(j, ']');
	json_open(j, "sources", '{');
	json_u64(j, "length", shared->sources.count);
	put_nulls(j, "uuid", shared->sources.count);
	PUT_COLUMN(j, "filename", &shared->sources, put_number, *row);
	json_close(j, '}');
	json_close(j, '}');
}

void firefox_tables_free(struct firefox_tables *t)
{
	map_free(&t->stack_of);
	map_free(&t->frame_of);
	map_free(&t->function_of);
	map_free(&t->resource_of);
	vec_free(&t->stacks);
	vec_free(&t->frames);
	vec_free(&t->functions);
	vec_free(&t->resources);
}

void firefox_shared_free(struct firefox_shared *shared)
{
	vec_foreach (&shared->strings, string)
		free(*string);
	vec_free(&shared->strings);
	vec_free(&shared->sources);
	vec_free(&shared->libs);
	map_free(&shared->string_of);
	map_free(&shared->source_of);
	map_free(&shared->lib_of);
}
