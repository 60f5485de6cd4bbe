// SPDX-License-Identifier: Apache-2.0
#include "query/flame_labels.h"

#include <errno.h>
#include <stdlib.h>

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
