// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of the source and their scripts. A SharedFunctionInfo has either its name or, once it
 * was compiled, a ScopeInfo: a list of words, of which those behind the names of variables are
 * there or not as its flags say.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "bpf/runtime/v8/abi.h"
#include "runtime/v8/internal.h"

#define UNKNOWN UINT32_MAX

/*
 * What cannot be read adds nothing to a checksum, as on the kernel side: the data of a function of
 * WebAssembly is an object, so its name, a string, is read as a ScopeInfo would be. Words of its
 * characters then refer to nowhere, and behind it there may be nothing.
 */
static int or_nothing(int err)
{
	return err == -EFAULT ? 0 : err;
}

/* Adds the head of a string, which tells it from others. What is none adds nothing. */
static int sum_string(const struct v8_reader *r, uint64_t *sum, uint64_t string)
{
	uint64_t head;
	int err;

	if (!v8_is_pointer(string))
		return 0;
	err = v8_read_word(r, &head, string, V8_STRING_HEAD);
	if (!err)
		*sum = v8_mix(*sum, head);
	return or_nothing(err);
}

/* Adds what the name is read from. */
static int sum_name(const struct v8_reader *r, uint64_t *sum, struct v8_shared *shared)
{
	struct v8_scope_layout layout = v8_facts_scope(r->facts);
	uint64_t name = shared->name;
	uint32_t at;
	int err;

	if (!v8_has_scope(name, shared->data))
		return sum_string(r, sum, name);
	err = runtime_read(r->at, shared->scope, sizeof(shared->scope), name - 1);
	if (err)
		return or_nothing(err);
	*sum = v8_sum_scope(*sum, shared->scope);
	at = v8_scope_name(&layout, shared->scope);
	if (at < V8_SCOPE_WORDS)
		name = v8_scope_named(shared->scope, at);
	else
		err = v8_read_word(r, &name, name, at * 8);
	return err ? or_nothing(err) : sum_string(r, sum, name);
}

int v8_shared_read(const struct v8_reader *r, uint64_t pointer, struct v8_shared *shared)
{
	const struct v8_facts *f = r->facts;
	uint64_t words[V8_SHARED_WORDS], sum;
	int err = v8_expect(r, pointer, f->type_shared);

	if (!err)
		err = runtime_read(r->at, words, sizeof(words), pointer - 1);
	if (err)
		return err;
	shared->pointer = pointer;
	shared->data = words[f->shared_data / 8];
	shared->name = words[f->shared_name / 8];
	shared->script = words[f->shared_script / 8];
	sum = v8_sum_shared(shared->name, shared->script, words[f->shared_numbers / 8]);
	err = sum_name(r, &sum, shared);
	shared->checksum = v8_checksum(sum);
	shared->start = shared->end = UNKNOWN;
	shared->function[0] = 0;
	return err;
}

int v8_shared_check(const struct v8_reader *r, const struct v8_shared *shared)
{
	struct v8_shared now;
	int err = v8_shared_read(r, shared->pointer, &now);

	return err ? err : now.checksum == shared->checksum ? 0 : -ESTALE;
}

/* Two words: where the function begins in the source, and where it ends. */
static void read_position(struct v8_shared *shared, const __u64 *words)
{
	if (!v8_is_small(words[0]) || !v8_is_small(words[1]) || words[0] > words[1])
		return;
	shared->start = (uint32_t)(words[0] >> 32);
	shared->end = (uint32_t)(words[1] >> 32);
}

/* What stands in the place of a name says that there is none: a small integer, undefined. */
static int expect_none(const struct v8_reader *r, uint64_t word)
{
	return v8_is_pointer(word) ? v8_expect(r, word, r->facts->type_oddball)
				   : (word ? -ESTALE : 0);
}

/*
 * The name that is there; an empty one or none leaves what was. An error: it cannot be read, or
 * another object is there by now, as what the garbage collector has freed becomes one.
 */
static int read_name(const struct v8_reader *r, struct v8_shared *shared, uint64_t word)
{
	char text[sizeof(shared->function)];
	int err;

	if (!expect_none(r, word))
		return 0;
	err = v8_string_text(r, word, text, sizeof(text));
	if (!err && text[0])
		memcpy(shared->function, text, strlen(text) + 1);
	return err;
}

/* What stands behind the variables: at most a class, name and its place, a guess, a position. */
#define BEHIND_MAX 6

/* A ScopeInfo, of which shared has the beginning. */
static int read_scope(const struct v8_reader *r, struct v8_shared *shared)
{
	const struct v8_facts *f = r->facts;
	struct v8_scope_layout layout = v8_facts_scope(f);
	const __u64 *scope = shared->scope;
	__u64 behind[BEHIND_MAX];
	uint32_t flags = v8_scope_flags(&layout, scope), at = v8_scope_behind(&layout, scope);
	size_t count = V8_SCOPE_HAS_CLASS(flags) + V8_SCOPE_HAS_NAME(flags) * 2 +
		       V8_SCOPE_HAS_GUESSED(flags) + !f->scope_position_first * 2,
	       next = V8_SCOPE_HAS_CLASS(flags);
	int err;

	if (!at || !v8_is_small(scope[layout.locals]) ||
	    (f->scope_flags_plain ? scope[1] >> 32 : !v8_is_small(scope[1])))
		return -ESTALE;
	err = runtime_read(r->at, behind, count * sizeof(*behind), shared->name - 1 + at * 8ull);
	if (!err && V8_SCOPE_HAS_NAME(flags)) {
		err = read_name(r, shared, behind[next]);
		next += 2;
	}
	if (!err && V8_SCOPE_HAS_GUESSED(flags)) {
		if (!shared->function[0])
			err = read_name(r, shared, behind[next]);
		next++;
	}
	if (!err)
		read_position(shared,
			      f->scope_position_first ? scope + layout.first - 2 : behind + next);
	return err;
}

/* A function without a name. Parts of V8's library that no program sees have no script either. */
static int name_nameless(const struct v8_reader *r, struct v8_shared *shared)
{
	const struct v8_facts *f = r->facts;
	uint32_t type = 0;
	int err = v8_type_of(r, &type, shared->script);

	if (err)
		return err;
	if (type != f->type_script && type != f->type_debug_info && type != f->type_oddball)
		return -ESTALE;
	snprintf(shared->function, sizeof(shared->function), "%s",
		 type == f->type_oddball ? "(builtin)" : "(anonymous)");
	return 0;
}

int v8_shared_name(const struct v8_reader *r, struct v8_shared *shared)
{
	int err;

	if (!v8_has_scope(shared->name, shared->data)) {
		err = read_name(r, shared, shared->name);
	} else {
		err = v8_expect(r, shared->name, r->facts->type_scope_info);
		if (!err)
			err = read_scope(r, shared);
	}
	return err || shared->function[0] ? err : name_nameless(r, shared);
}

void v8_scripts_forget(struct v8_state *state)
{
	vec_foreach (&state->scripts, script)
		vec_free(&script->ends);
	state->scripts.count = 0;
	state->lines = 0;
	map_free(&state->by_script);
}

/* Longer sources are not read for the sake of line numbers. */
#define SOURCE_MAX (16u << 20)

/* Lines of all scripts of a process. */
#define LINES_MAX (4u << 20)

/* Characters that end a line (ECMA-262, 12.3). */
static bool ends_line(uint32_t c, uint32_t next)
{
	return c == '\n' || (c == '\r' && next != '\n') || c == 0x2028 || c == 0x2029;
}

static int count_lines(const struct v8_reader *r, const struct v8_characters *c,
		       struct v8_script *script)
{
	size_t size = (size_t)c->length << c->wide;
	uint8_t *text = malloc(size + 2);
	uint32_t i;
	int err = -ENOMEM;

	if (!text)
		return err;
	err = runtime_read(r->at, text, size, c->at);
	text[size] = text[size + 1] = 0;
	for (i = 0; i < c->length && !err; i++) {
		uint16_t pair[2] = {text[i], text[i + 1]};

		if (c->wide)
			memcpy(pair, text + 2ull * i, i + 1 < c->length ? 4 : 2);
		if (ends_line(pair[0], pair[1]) && !vec_push(&script->ends, i))
			err = -ENOMEM;
	}
	free(text);
	return err;
}

/* The lines of a script; null: they are not known. */
static const struct v8_script *lines_of(const struct v8_reader *r, uint64_t script)
{
	struct v8_state *state = r->state;
	struct v8_script lines = {0};
	struct v8_characters c;
	uint64_t *known;

	if (v8_read_word(r, &lines.source, script, r->facts->script_source) ||
	    v8_string_characters(r, lines.source, &c) || c.length > SOURCE_MAX)
		return NULL;
	lines.length = c.length;
	known = map_get(&state->by_script, script);
	if (known && *known < state->scripts.count &&
	    state->scripts.at[*known].source == lines.source &&
	    state->scripts.at[*known].length == lines.length)
		return &state->scripts.at[*known];
	if (state->lines > LINES_MAX)
		v8_scripts_forget(state);
	if (count_lines(r, &c, &lines) || !vec_push(&state->scripts, lines)) {
		vec_free(&lines.ends);
		return NULL;
	}
	state->lines += lines.ends.count + 1;
	map_put(&state->by_script, script, state->scripts.count - 1);
	return vec_last(&state->scripts);
}

uint32_t v8_shared_line(const struct v8_reader *r, const struct v8_shared *shared, uint32_t place)
{
	const struct v8_script *lines;
	size_t low;
	uint64_t first = 0;

	if (place == UNKNOWN || v8_expect(r, shared->script, r->facts->type_script))
		return 0;
	lines = lines_of(r, shared->script);
	if (!lines || place > lines->length)
		return 0;
	low = search_first(lines->ends.count, i, lines->ends.at[i] < place);
	/* scripts may say that they begin at another line than the first */
	if (v8_read_word(r, &first, shared->script, r->facts->script_first_line) ||
	    !v8_is_small(first) || first >> 32 > INT32_MAX)
		first = 0;
	return (uint32_t)(low + 1 + (first >> 32));
}

uint64_t v8_shared_bytecode(const struct v8_reader *r, const struct v8_shared *shared)
{
	uint64_t data = shared->data;
	uint32_t type = 0;

	if (!v8_is_pointer(data) || v8_type_of(r, &type, data))
		return 0;
	if (type == r->facts->type_bytecode)
		return data;
	/* code of Sparkplug has the bytecode that it was made of */
	if (type != r->facts->type_code ||
	    v8_read_word(r, &data, data, r->facts->code_deoptimization) ||
	    v8_expect(r, data, r->facts->type_bytecode))
		return 0;
	return data;
}

/* The path of a script as people write it. */
static const char *path_of(const char *name)
{
	return !strncmp(name, "file:///", 8) && !strchr(name, '%') ? name + 7 : name;
}

void v8_shared_add(const struct v8_reader *r, const struct v8_shared *shared, uint32_t line,
		   struct runtime_names *names)
{
	char name[RUNTIME_TEXT_MAX];
	const char *file = NULL;
	uint64_t string;

	if (!v8_expect(r, shared->script, r->facts->type_script) &&
	    !v8_read_word(r, &string, shared->script, r->facts->script_name) &&
	    !v8_string_text(r, string, name, sizeof(name)) && name[0])
		file = path_of(name);
	if (file && !names->count)
		runtime_names_image(names, file);
	runtime_names_add(names, shared->function, file, line);
}
