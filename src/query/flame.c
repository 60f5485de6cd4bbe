// SPDX-License-Identifier: Apache-2.0
#include "query/flame.h"

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
