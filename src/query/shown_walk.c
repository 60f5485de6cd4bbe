// SPDX-License-Identifier: Apache-2.0
#include "query/shown_walk.h"

#include <stdlib.h>
#include <string.h>

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
