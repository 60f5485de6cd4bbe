// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/oom_words.h"

#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* Adds a part that is there, behind those before. */
static size_t add(char *to, size_t size, size_t at, uint64_t bytes, const char *what)
{
	char words[32];
	int length;

	if (!bytes || at >= size)
		return at;
	text_bytes(words, sizeof(words), bytes);
	length = snprintf(to + at, size - at, "%s%s %s", at ? ", " : "", words, what);
	return length > 0 ? at + (size_t)length : at;
}

void oom_words(const struct happening_oom *oom, char *to, size_t size)
{
	char parts[160] = "nothing", used[32], limit[32], group[64];
	size_t at = add(parts, sizeof(parts), 0, oom->anonymous, "anonymous");

	at = add(parts, sizeof(parts), at, oom->files, "of files");
	at = add(parts, sizeof(parts), at, oom->shared, "shared");
	add(parts, sizeof(parts), at, oom->swapped, "swapped out");
	if (!oom->limit) {
		snprintf(to, size, "out of memory: it had %s; the machine was full", parts);
		return;
	}
	text_bytes(used, sizeof(used), oom->used);
	text_bytes(limit, sizeof(limit), oom->limit);
	text_make_safe(group, sizeof(group), oom->group);
	snprintf(to, size, "out of memory: it had %s; control group %s held %s of at most %s",
		 parts, group, used, limit);
}
