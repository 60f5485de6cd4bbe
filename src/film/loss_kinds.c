// SPDX-License-Identifier: Apache-2.0
#include "film/loss_kinds.h"

#include <stddef.h>
#include <string.h>

/* How reasons begin, wherever they come from; the first that fits counts. */
static const struct {
	const char *beginning;
	enum film_loss_kind kind;
} beginnings[] = {
	{"ring full", FILM_LOSS_SAMPLE},
	{"the CPU came online after ", FILM_LOSS_SAMPLE},
	{"a probe interrupted others ", FILM_LOSS_SAMPLE},
	{"sample: ", FILM_LOSS_SAMPLE},
	{"call lost", FILM_LOSS_SAMPLE},
	{"call not shown: a value of its condition", FILM_LOSS_SAMPLE},
	{"call summed up without its time", FILM_LOSS_SAMPLE},
	{"wait lost", FILM_LOSS_SAMPLE},
	{"thread not listed", FILM_LOSS_SAMPLE},
	{"switch lost", FILM_LOSS_SAMPLE},
	{"pushed samples that make no sense", FILM_LOSS_SAMPLE},
	{"film: no room for another sample ", FILM_LOSS_SAMPLE},
	{"film: no room for another call ", FILM_LOSS_SAMPLE},
	{"film: no room for another wait ", FILM_LOSS_SAMPLE},
	{"film: no room for another request", FILM_LOSS_SAMPLE},
	{"film: no room for another value of a call", FILM_LOSS_OTHER},
	{"request lost", FILM_LOSS_SAMPLE},
	{"film: no room for another value of the machine", FILM_LOSS_SAMPLE},
	{"film: no room for a part of a logged line", FILM_LOSS_SAMPLE},
	{"write to a log lost", FILM_LOSS_SAMPLE},
	{"stack cut", FILM_LOSS_STACK},
	{"user stack: ", FILM_LOSS_STACK},
	{"stack of a ", FILM_LOSS_STACK},
	{"unwind table: ", FILM_LOSS_STACK},
	{"mapped file: ", FILM_LOSS_STACK},
	{"film: no room for another frame", FILM_LOSS_STACK},
	{"film: no room for another stack", FILM_LOSS_STACK},
	{"film: no room for another function", FILM_LOSS_NAME},
	{"film: no room for all names ", FILM_LOSS_NAME},
	{"functions of JIT code ", FILM_LOSS_NAME},
	{"inlined functions ", FILM_LOSS_NAME},
	{"Java object of an unknown class", FILM_LOSS_NAME},
};

enum film_loss_kind film_loss_kind(const char *reason)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (!strncmp(reason, beginnings[i].beginning, strlen(beginnings[i].beginning)))
			return beginnings[i].kind;
	/* "python frame without a name: the process had ended" */
	return strstr(reason, "without a name") ? FILM_LOSS_NAME : FILM_LOSS_OTHER;
}

const char *film_loss_kind_name(enum film_loss_kind kind)
{
	static const char *const names[FILM_LOSS_KINDS] = {"sample", "stack", "name", "other"};

	return names[kind];
}
