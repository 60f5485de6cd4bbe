// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"

#include <errno.h>
#include <stdlib.h>

void flame_free(struct flame *flame)
{
	free(flame->nodes);
	*flame = (struct flame){0};
}

uint32_t flame_next(const struct flame *flame, uint32_t node, uint32_t *depth)
{
	if (flame->nodes[node].first_child) {
		++*depth;
		return flame->nodes[node].first_child;
	}
	while (node && !flame->nodes[node].next_sibling) {
		node = flame->nodes[node].parent;
		--*depth;
	}
	return node ? flame->nodes[node].next_sibling : 0;
}

int flame_labels(const struct flame *flame, struct labels *labels, uint32_t **label_of)
{
	*label_of = calloc(flame->count + 1ull, sizeof(**label_of));
	for (uint32_t i = 1; *label_of && i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];
		struct label label = {
			.name = node->name,
			.image = node->image,
			.kind = node->kind,
			.file = node->file,
			.line = node->line,
		};

		(*label_of)[i] = label_intern(labels, &label);
		if ((*label_of)[i] == LABEL_NONE) {
			free(*label_of);
			*label_of = NULL;
		}
	}
	return *label_of ? 0 : -ENOMEM;
}
