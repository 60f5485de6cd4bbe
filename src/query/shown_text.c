// SPDX-License-Identifier: Apache-2.0
#include "query/shown_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/*
 * A line is for people: values whose text is longer than this are shown less deep. A call has more
 * than one, so that each has a part.
 */
#define LINE_BYTES 600
#define PART_BYTES 120
#define DEPTH_MAX  8

struct printing {
	FILE *out;
	int depth; /* objects and lists within this many others are just mentioned; 0: none is */
	long most; /* where in out no further member begins; 0: anywhere */
	bool *is_short; /* to be set where something is left out; null: nothing is */
};

static void print_node(const struct printing *p, struct shown_walk *walk, const struct shown *node,
		       int depth);

static void leave_out(const struct printing *p, const char *words)
{
	fputs(words, p->out);
	*p->is_short = true;
}

static bool is_full(const struct printing *p)
{
	return p->most && ftell(p->out) >= p->most;
}

static void print_children(const struct printing *p, struct shown_walk *walk,
			   const struct shown *node, int depth)
{
	size_t begin = walk->at;

	if (p->depth && depth >= p->depth && node->children) {
		leave_out(p, "…");
		shown_pass(walk, node);
		return;
	}
	for (uint32_t i = 0; i < node->children; i++) {
		const struct shown *child;

		if (is_full(p)) {
			leave_out(p, ", …");
			walk->at = begin;
			shown_pass(walk, node);
			return;
		}
		child = shown_next(walk);
		if (!child)
			return;
		if (i)
			fputs(node->kind == SHOWN_PAIRS && i % 2 ? ": " : ", ", p->out);
		if (node->kind == SHOWN_OBJECT && child->name) {
			text_print_safe(p->out, child->name);
			putc('=', p->out);
		}
		print_node(p, walk, child, depth + 1);
	}
}

/* "Some(5)", "Line{from=1, to=2}" */
static void print_variant(const struct printing *p, struct shown_walk *walk, int depth)
{
	const struct shown *child = shown_next(walk);
	bool is_open = child && child->kind != SHOWN_OBJECT;

	if (!child)
		return;
	text_print_safe(p->out, child->name ? child->name : "");
	if (is_open)
		putc('(', p->out);
	print_node(p, walk, child, depth);
	if (is_open)
		putc(')', p->out);
}

/* A list whose elements have types of their own: "(1, true)", "()" */
static bool is_tuple(const struct shown *node)
{
	const char *type = node->type ? node->type : "";

	type += *type == '&';
	type += strncmp(type, "const ", strlen("const ")) ? 0 : strlen("const ");
	return node->kind == SHOWN_LIST &&
	       (*type == '(' || !strncmp(type, "tuple<", strlen("tuple<")));
}

static void print_value(const struct printing *p, struct shown_walk *walk, const struct shown *node,
			int depth)
{
	FILE *out = p->out;
	char *text;

	switch (node->kind) {
	case SHOWN_SIGNED:
		fprintf(out, "%" PRId64, (int64_t)node->number);
		break;
	case SHOWN_UNSIGNED:
		fprintf(out, "%" PRIu64, node->number);
		break;
	case SHOWN_CHAR:
		if (node->number >= ' ' && node->number < 127)
			fprintf(out,
				node->number == '\'' || node->number == '\\' ? "'\\%c'" : "'%c'",
				(int)node->number);
		else
			fprintf(out, "%" PRId64, (int64_t)node->number);
		break;
	case SHOWN_REAL:
		fprintf(out, "%.17g", node->real);
		break;
	case SHOWN_BOOL:
		fputs(node->number ? "true" : "false", out);
		break;
	case SHOWN_TEXT:
		text = shown_text(node);
		text_print_quoted(out, text ? text : "");
		free(text);
		break;
	case SHOWN_NAME:
		text = shown_text(node);
		text_print_safe(out, text ? text : "");
		free(text);
		break;
	case SHOWN_ADDRESS:
		fprintf(out, "0x%" PRIx64, node->number);
		break;
	case SHOWN_OBJECT:
		putc('{', out);
		print_children(p, walk, node, depth);
		putc('}', out);
		break;
	case SHOWN_VARIANT:
		print_variant(p, walk, depth);
		break;
	case SHOWN_LIST:
	case SHOWN_PAIRS:
		putc(is_tuple(node) ? '(' : node->kind == SHOWN_LIST ? '[' : '{', out);
		print_children(p, walk, node, depth);
		if (node->status == SHOWN_TRUNCATED)
			fprintf(out, "%s…", node->children ? ", " : "");
		if (node->status == SHOWN_TRUNCATED && node->length)
			fprintf(out, " of %" PRIu64, node->length);
		putc(is_tuple(node) ? ')' : node->kind == SHOWN_LIST ? ']' : '}', out);
		break;
	case SHOWN_NOTHING:
		break;
	}
}

static void print_node(const struct printing *p, struct shown_walk *walk, const struct shown *node,
		       int depth)
{
	FILE *out = p->out;

	if (node->status == SHOWN_NIL) {
		fputs("nil", out);
		return;
	}
	print_value(p, walk, node, depth);
	if (node->kind == SHOWN_NOTHING)
		fprintf(out, "<%s>", shown_status_words(node->status));
	else if (node->status == SHOWN_TRUNCATED && node->kind == SHOWN_TEXT)
		fputs("…", out);
	else if (node->status != SHOWN_VALUE && node->status != SHOWN_TRUNCATED)
		fprintf(out, " <%s>", shown_status_words(node->status));
}

void shown_print_value(FILE *out, const struct shown_tree *tree, size_t at)
{
	const struct printing p = {.out = out};
	struct shown_walk walk = {tree, at};
	const struct shown *node = shown_next(&walk);

	if (node)
		print_node(&p, &walk, node, 0);
}

size_t shown_behind(const struct shown_tree *tree, size_t at)
{
	struct shown_walk walk = {tree, at};
	const struct shown *node = shown_next(&walk);

	if (node)
		shown_pass(&walk, node);
	return walk.at;
}

/* "name=" and the value */
static void print_named(const struct printing *p, struct shown_walk *walk, const struct shown *node)
{
	/* Go's compiler numbers results without a name: ~r0 */
	if (node->name && *node->name && *node->name != '~') {
		text_print_safe(p->out, node->name);
		putc('=', p->out);
	}
	print_node(p, walk, node, 0);
}

/* Bytes that the whole of a text may have at most, about. */
static size_t guess_bytes(const struct shown_tree *tree)
{
	enum {
		NUMBER_BYTES = 16
	};
	size_t bytes = 0;

	vec_foreach (&tree->nodes, node)
		bytes += NUMBER_BYTES + node->size + (node->name ? strlen(node->name) : 0);
	return bytes;
}

static char *text_at(const struct shown_tree *tree, size_t at, int depth, size_t most, size_t *size,
		     bool *is_short)
{
	struct printing p = {
		.depth = depth, .most = depth == 1 ? (long)most : 0, .is_short = is_short};
	struct shown_walk walk = {tree, at};
	char *text = NULL;

	*is_short = false;
	p.out = open_memstream(&text, size);
	if (!p.out)
		return NULL;
	print_named(&p, &walk, shown_next(&walk));
	if (fclose(p.out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* The text of one value, as deep as is not too long; to be freed. Null: no memory. */
static char *short_text(const struct shown_tree *tree, size_t at, size_t most, bool *is_short)
{
	size_t size;
	bool more;
	char *text = text_at(tree, at, 1, most, &size, &more);

	for (int depth = 2; text && more && depth <= DEPTH_MAX; depth++) {
		bool is_cut;
		char *deeper = text_at(tree, at, depth, most, &size, &is_cut);

		if (!deeper || size > most) {
			free(deeper);
			break;
		}
		free(text);
		text = deeper;
		more = is_cut;
	}
	*is_short |= more;
	return text;
}

/* What each value of those that are longer may have, when they share a line. */
static size_t part_of(const struct shown_tree *tree)
{
	size_t count = 0;

	for (size_t at = 0; at < tree->nodes.count; at = shown_behind(tree, at))
		count++;
	return count && LINE_BYTES / count > PART_BYTES ? LINE_BYTES / count : PART_BYTES;
}

static bool print_short(FILE *out, const struct shown_tree *tree)
{
	size_t most = part_of(tree);
	bool is_short = false;

	for (size_t at = 0; at < tree->nodes.count; at = shown_behind(tree, at)) {
		char *text = short_text(tree, at, most, &is_short);

		fprintf(out, "%s%s", at ? ", " : "", text ? text : "?");
		free(text);
	}
	return is_short;
}

bool shown_print_list(FILE *out, const struct shown_tree *tree)
{
	const struct printing p = {.out = out};
	struct shown_walk walk = {tree, 0};
	const struct shown *node;
	bool follows = false;

	if (guess_bytes(tree) > LINE_BYTES)
		return print_short(out, tree);
	while ((node = shown_next(&walk))) {
		if (follows)
			fputs(", ", out);
		follows = true;
		print_named(&p, &walk, node);
	}
	return false;
}

const struct shown *shown_next(struct shown_walk *walk)
{
	return walk->at < walk->tree->nodes.count ? &walk->tree->nodes.at[walk->at++] : NULL;
}

char *shown_text(const struct shown *node)
{
	char *text = malloc(node->size * 3 + 1);
	size_t to = 0;

	for (size_t i = 0; text && i < node->size; i++) {
		if (node->text[i]) {
			text[to++] = node->text[i];
			continue;
		}
		memcpy(text + to, "\xef\xbf\xbd", 3);
		to += 3;
	}
	if (text)
		text[to] = 0;
	return text;
}

void shown_pass(struct shown_walk *walk, const struct shown *node)
{
	for (uint32_t i = 0; i < node->children; i++) {
		const struct shown *child = shown_next(walk);

		if (!child)
			return;
		shown_pass(walk, child);
	}
}
