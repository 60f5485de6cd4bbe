// SPDX-License-Identifier: Apache-2.0
/*
 * What the kernel side has read at a probe: the target's memory, which may hold anything, by types
 * that a hostile file may have. The input is what the child says of the types, after its length;
 * then a record's bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sources/inspect/decode.h"
#include "show/inspect.h"

/* A method of a generic type, which has a dictionary. */
static const struct abi_go go = {
	.name = "main.(*T[go.shape.int]).M",
	.minor = 19,
	.has_registers = true,
	.width = -1,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUNCTIONS 8
#define LINES	  4

static const struct inspect_limits limits = {256, 16, 3};

/* Are there as many nodes as the tree says? Returns where it goes on. */
static size_t pass(const struct shown_tree *tree, size_t at, unsigned int depth)
{
	const struct shown *node = &tree->nodes.at[at++];

	if (depth > 64 || node->kind > SHOWN_PAIRS || node->status >= SHOWN_STATUSES)
		abort();
	for (uint32_t i = 0; i < node->children && !tree->failed; i++) {
		if (at >= tree->nodes.count)
			abort();
		at = pass(tree, at, depth + 1);
	}
	return at;
}

static void show(const struct inspect_contents *taken, const struct value_param *params,
		 size_t count, bool results, FILE *out)
{
	struct shown_tree tree = {0};
	struct inspect_line line = {
		.comm = "", .function = "", .arguments = &tree, .results = &tree};

	inspect_decode(taken, params, count, results, &tree);
	for (size_t at = 0; at < tree.nodes.count && !tree.failed;)
		at = pass(&tree, at, 0);
	if (!tree.failed) {
		inspect_print_json(out, &line);
		inspect_print_text(out, &line);
	}
	vec_free(&tree.nodes);
}

/* The variables of a line, whole and in parts. */
static void show_site(const struct values *values, const struct value_site *site,
		      const uint8_t *bytes, size_t size, FILE *out)
{
	static const char *const texts[] = {"a", "a.b", "*a", "a[3].b->c", "**a[1]"};
	enum {
		PARTS = sizeof(texts) / sizeof(texts[0])
	};
	const struct value_param *variables = values->params.at + site->first_param;
	struct inspect_part parts[PARTS];
	struct inspect_plan plan = {0};
	struct inspect_builder builder = {.values = values, .limits = limits, .plan = &plan};
	struct inspect_contents taken = {
		.values = values,
		.plan = &plan,
		.limits = &limits,
		.bytes = bytes,
		.size = (uint32_t)size,
	};
	struct shown_tree tree = {0};

	if (!site->params)
		return;
	inspect_add_params(&builder, variables, site->params, false);
	show(&taken, variables, site->params, false, out);
	for (unsigned int i = 0; i < PARTS; i++)
		if (!inspect_add_parts(&builder, &texts[i], 1, variables, site->params, &parts[i],
				       NULL))
			inspect_decode_parts(&taken, &parts[i], 1, &tree);
	vec_free(&tree.nodes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct values values = {0};
	uint16_t length = 0;
	FILE *out;

	if (size < sizeof(length))
		return 0;
	memcpy(&length, data, sizeof(length));
	data += sizeof(length);
	size -= sizeof(length);
	length = length < size ? length : (uint16_t)size;
	buf_put(&values.text, data, length);
	out = fopen("/dev/null", "w");
	if (out && !values_parse(&values, FUNCTIONS, LINES, NULL)) {
		for (size_t i = 0; i < FUNCTIONS; i++) {
			const struct value_function *f = &values.functions[i];
			struct value_param *params =
				f->params ? &values.params.at[f->first_param] : NULL;
			struct inspect_plan plan = {0};
			struct inspect_builder builder = {
				.values = &values, .limits = limits, .plan = &plan};
			struct inspect_contents taken = {
				.values = &values,
				.plan = &plan,
				.limits = &limits,
				.bytes = data + length,
				.size = (uint32_t)(size - length),
			};

			if (!f->params)
				continue;
			abi_go_params(&values, params, f->params, &go);
			inspect_add_params(&builder, params, f->params, false);
			show(&taken, params, f->params, false, out);
			show(&taken, params, f->params, true, out);
		}
	}
	for (size_t i = 0; out && i < values.sites.count; i++)
		show_site(&values, &values.sites.at[i], data + length, size - length, out);
	if (out)
		fclose(out);
	values_free(&values);
	return 0;
}
