// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "answers.h"

#include <string.h>

const struct function *answer_function(const struct functions *functions, const char *name)
{
	for (size_t i = 0; i < functions->count; i++)
		if (!strcmp(functions->at[i].label->name, name))
			return &functions->at[i];
	return NULL;
}

const struct flame_node *answer_node(const struct flame *flame, const char *path)
{
	uint32_t node = 0;

	while (*path) {
		size_t length = strcspn(path, ";");

		for (node = flame->nodes[node].first_child; node;
		     node = flame->nodes[node].next_sibling)
			if (strlen(flame->nodes[node].name) == length &&
			    !memcmp(flame->nodes[node].name, path, length))
				break;
		if (!node)
			return NULL;
		path += length;
		path += *path == ';';
	}
	return &flame->nodes[node];
}

void answer_check(const struct flame *flame, const struct functions *functions)
{
	uint64_t now = 0, before = 0;

	for (uint32_t i = 0; i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];
		uint64_t total = node->self, before_total = node->before_self;
		uint32_t child, last = 0;

		assert_true(!i || node->parent < i);
		for (child = node->first_child; child; child = flame->nodes[child].next_sibling) {
			assert_int_equal(flame->nodes[child].parent, i);
			assert_true(!last || flame->nodes[last].total >= flame->nodes[child].total);
			total += flame->nodes[child].total;
			before_total += flame->nodes[child].before_total;
			last = child;
		}
		assert_int_equal(node->total, total);
		assert_int_equal(node->before_total, before_total);
	}
	for (size_t i = 0; i < functions->count; i++) {
		const struct function *f = &functions->at[i];

		for (int side = TREE_NOW; side <= TREE_BEFORE; side++)
			assert_true(f->total[side] >= f->self[side]);
		now += f->self[TREE_NOW];
		before += f->self[TREE_BEFORE];
	}
	assert_int_equal(now, flame->nodes[0].total);
	assert_true(!before == !flame->nodes[0].before_total || !now);
}
