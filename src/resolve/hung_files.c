// SPDX-License-Identifier: Apache-2.0
#include "resolve/hung_files.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/clock.h"

static bool holds(const struct far_hang *hangs, size_t count, const struct far_hang *hang)
{
	for (size_t i = 0; i < count; i++)
		if (hangs[i].since == hang->since && hangs[i].device == hang->device)
			return true;
	return false;
}

static void report_hang(const struct far_hang *hang, bool is_back, uint64_t now,
			void (*say)(void *context, const char *words), void *context)
{
	char mount[400] = "its file system", words[1000];
	uint64_t seconds = (now - hang->since) / SECOND_NS;

	if (hang->point[0])
		snprintf(mount, sizeof(mount), "the file system at %s (%s)", hang->point,
			 hang->type);
	if (is_back)
		snprintf(words, sizeof(words), "%s answers again, after %" PRIu64 " s",
			 hang->point[0] ? mount : hang->path, seconds);
	else
		snprintf(words, sizeof(words),
			 "%s: %s has not answered for %" PRIu64
			 " s; its files are not read until it does, and functions of them have no "
			 "names",
			 hang->path, mount, seconds);
	say(context, words);
}

void hung_files_look(struct hung_files *hung, struct far_files *far, uint64_t now,
		     void (*say)(void *context, const char *words), void *context)
{
	struct far_hang hangs[HUNG_FILES_MAX];
	size_t count = far_files_hangs(far, hangs, HUNG_FILES_MAX);

	for (size_t i = 0; say && i < hung->count; i++)
		if (!holds(hangs, count, &hung->said[i]))
			report_hang(&hung->said[i], true, now, say, context);
	hung->since = 0;
	for (size_t i = 0; i < count; i++) {
		if (say && !holds(hung->said, hung->count, &hangs[i]))
			report_hang(&hangs[i], false, now, say, context);
		if (!hung->since || hangs[i].since < hung->since)
			hung->since = hangs[i].since;
	}
	for (size_t i = 0; i < count; i++)
		hung->said[i] = hangs[i];
	hung->count = count;
}
