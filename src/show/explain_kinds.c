// SPDX-License-Identifier: Apache-2.0
/* What kind of time a part of an explanation is. */
#include <string.h>

#include "show/explain.h"

/* Null: neither the functions on its stack nor its request say more than its system call. */
static const char *kind_by_role(const struct slice *slice)
{
	return !slice_is_wait(slice->kind)			    ? NULL
	       : slice->flags & HISTORY_ROW			    ? "row-lock"
	       : slice->flags & HISTORY_TABLE			    ? "table-lock"
	       : slice->flags & HISTORY_SAFEPOINT		    ? "stopping"
	       : slice->flags & (HISTORY_FUSE | HISTORY_BY_PROCESS) ? "served-file"
	       : slice->flags & HISTORY_UPLOAD			    ? "slow-sender"
	       : slice->flags & HISTORY_CLIENT_READ		    ? "client"
	       : slice->flags & HISTORY_CLIENT_WRITE		    ? "slow-client"
								    : NULL;
}

const char *explain_kind(const struct explainer *e, const struct explain_part *part)
{
	if (part->is_of_connection)
		return "connection";
	if (part->is_reclaim)
		return "reclaim";
	if (part->is_queue)
		return "queue";
	switch ((enum critical_end)part->ended) {
	case CRITICAL_EARLIER:
	case CRITICAL_ABSENT:
	case CRITICAL_HOLE:
	case CRITICAL_UNLINKED:
	case CRITICAL_SHARED:
		return "unexplained";
	case CRITICAL_SENT:
		return "sent";
	case CRITICAL_ANSWERED:
		return "answered";
	default:
		break;
	}
	if (part->made)
		return "request";
	if (part->ended == CRITICAL_READY)
		return "ready";
	if (part->is_made)
		return "made";
	if (explain_is_safepoint(e, part))
		return "safepoint";
	if (part->slice != HISTORY_NONE && kind_by_role(explain_part_slice(e, part)))
		return kind_by_role(explain_part_slice(e, part));
	if (part->slice != HISTORY_NONE && explain_part_slice(e, part)->flags & HISTORY_NAMES)
		return "name-server";
	if (part->slice != HISTORY_NONE && !part->lock &&
	    slice_is_for_condition(explain_part_slice(e, part)))
		return "condition";
	return slice_kind_name(part->kind);
}

const char *explain_kind_words(const char *kind)
{
	static const char *const sentences[][2] = {
		{"on-cpu", "time on CPU"},
		{"reclaim", "the kernel's freeing of memory"},
		{"row-lock", "waiting for row locks"},
		{"table-lock", "waiting for table locks"},
		{"stopping", "the time until all threads had stopped"},
		{"served-file", "waiting for the process that serves a file"},
		{"client", "waiting for its client"},
		{"slow-client", "sending to a client that reads slowly"},
		{"slow-sender", "waiting for a client that sends its request slowly"},
		{"made", "the time until its thread was made"},
		{"ready", "time ready but not running"},
		{"queue", "time behind other requests"},
		{"connection", "earlier requests of a connection"},
		{"request", "waiting for the answers of others"},
		{"condition", "waiting for conditions"},
		{"poll", "waiting for new events"},
		{"socket-read", "waiting for data of a peer"},
		{"disk", "waiting for a disk"},
		{"sleep", "sleeping"},
		{"sent", "time until its request was received"},
		{"answered", "time until the answer was received"},
		{"name-server", "waiting for a name server"},
		{"safepoint", "pauses of the Java virtual machine"},
		{"unexplained", "time that is not explained"},
	};

	for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (!strcmp(kind, sentences[i][0]))
			return sentences[i][1];
	return kind;
}
