// SPDX-License-Identifier: Apache-2.0
/* A wait for a device in words. */
#include <string.h>

#include "base/text.h"
#include "show/explain.h"

/* Fewer than are in JSON: a sentence is to be read. */
#define WORKS_SHOWN 2

static void put_name(const struct explainer *e, const struct device_share *work, struct buf *words)
{
	const char *name = object_name(e->film, work->name);

	if (*name)
		buf_printf(words, "%s%s", work->is_copy ? "" : "kernel ", name);
	else
		buf_put_text(words, work->is_copy ? "a copy" : "a kernel without a name");
	buf_printf(words, " on stream %u", work->stream);
	if (work->device)
		buf_printf(words, " of device %u", work->device);
}

/* "4.1 of 4.3 ms", "900 us of 4.3 ms" */
static void put_share(uint64_t ns, uint64_t whole, struct buf *words)
{
	char part[32], all[32];
	const char *unit, *of;

	text_duration(part, sizeof(part), ns);
	text_duration(all, sizeof(all), whole);
	unit = strchr(part, ' ');
	of = strchr(all, ' ');
	buf_printf(words, " (%.*s of %s)",
		   unit && of && !strcmp(unit, of) ? (int)(unit - part) : (int)strlen(part), part,
		   all);
}

bool explain_put_works(const struct explainer *e, const struct explain_part *part,
		       struct buf *words)
{
	const struct device_share *works = part->works;

	for (size_t i = 0; i < WORKS_SHOWN && works[i].ns; i++) {
		buf_put_text(words, i ? " and " : "waiting for ");
		put_name(e, &works[i], words);
		put_share(works[i].ns, part->duration, words);
	}
	return works[0].ns > 0;
}
