// SPDX-License-Identifier: Apache-2.0
/* What the words for a part of an explanation rest on. */
#include "show/explain.h"

static const char *const contexts[] = {
	[FILM_WAIT_BY_NONE] = "not known what ended it",
	[FILM_WAIT_BY_THREAD] = "woken by a thread",
	[FILM_WAIT_BY_SOFTIRQ] = "woken by a soft interrupt",
	[FILM_WAIT_BY_INTERRUPT] = "woken by an interrupt",
	[FILM_WAIT_BY_TIMER] = "woken by a timer",
	[FILM_WAIT_BY_EITHER] = "woken by a thread or an interrupt",
};

void explain_evidence_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	const struct slice *slice = explain_part_slice(e, part);
	static const char *const sure[] = {
		[FILM_HOLDER_OWNER] = "its owner read from the lock",
		[FILM_HOLDER_LAST] = "its last holder read from the lock",
		[FILM_HOLDER_RELEASER] = "its holder taken to be the thread that released it",
	};

	buf_printf(words, "%llu slice%s, the longest ", (unsigned long long)part->count,
		   part->count == 1 ? "" : "s");
	explain_put_ns(words, part->longest);
	if (part->kind == SLICE_ON_CPU)
		buf_printf(words, "; functions from %llu samples, an estimate",
			   (unsigned long long)part->samples);
	if (part->is_of_connection)
		buf_put_text(words, "; of the connection whose request ended the wait: that it led "
				    "to the wait, as a transaction does, is a guess");
	if (!slice || !slice_is_wait(part->kind))
		return;
	buf_printf(words, "; in %s", explain_call(e, slice));
	if (slice->context < sizeof(contexts) / sizeof(contexts[0]) &&
	    !(slice->flags & FILM_WAIT_OPEN))
		buf_printf(words, ", %s", contexts[slice->context]);
	if (slice->flags & FILM_WAIT_IOWAIT)
		buf_put_text(words, ", counted as waiting for a disk");
	if (wait_is_by_stack(slice_wait_class(part->kind), explain_call(e, slice)))
		buf_printf(words, ", %s as its stack says",
			   slice_wait_class(part->kind) == WAIT_SLEEP ? "a sleep" : "for work");
	if (part->lock && part->lock->sure < sizeof(sure) / sizeof(sure[0]) &&
	    sure[part->lock->sure])
		buf_printf(words, ", %s", sure[part->lock->sure]);
	if (slice->flags & HISTORY_PEER)
		buf_put_text(words, "; the one thread of the process with the other end of the "
				    "connection that ran then");
	if (part->is_call)
		buf_put_text(words, "; the request of its connection, and of its stream, that was "
				    "served meanwhile");
	if (part->is_passed_on)
		buf_put_text(words, "; that the thread which woke the event loop had the result is "
				    "a guess");
	if (part->is_likely)
		buf_put_text(words, "; an interrupt may have ended it instead");
	if (part->retries)
		buf_put_text(words, "; waits whose timeout was over, and which began anew for the "
				    "same at once, are one with the last of them");
}
