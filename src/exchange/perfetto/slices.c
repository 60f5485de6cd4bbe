// SPDX-License-Identifier: Apache-2.0
#include "exchange/perfetto/writer.h"

#include <errno.h>

#include "query/filter.h"
#include "query/lock_words.h"
#include "query/objects.h"
#include "query/slices.h"
#include "exchange/perfetto/trace.h"

/*
 * What threads did, as a trace of Perfetto: on the track of each thread a slice for each of its
 * own. They do not overlap, so that they need no nesting. An arrow (a flow) leads from the moment
 * at which a thread woke another to the time in the run queue that follows.
 */
enum annotation {
	ANNOTATE_CPU = 1,
	ANNOTATE_CALL,
	ANNOTATE_BEGAN_BEFORE,
	ANNOTATE_GOES_ON,
	ANNOTATE_WAKER,
	ANNOTATE_OBJECT,
	ANNOTATE_READY_OBJECT,
	ANNOTATE_HOLDER,
	ANNOTATE_HOLDER_TID,
	ANNOTATE_HOLDER_SURE,
};

static const char *const annotation_names[] = {
	[ANNOTATE_CPU] = "cpu",
	[ANNOTATE_CALL] = "system_call",
	[ANNOTATE_BEGAN_BEFORE] = "began_before",
	[ANNOTATE_GOES_ON] = "goes_on",
	[ANNOTATE_WAKER] = "waker_tid",
	[ANNOTATE_OBJECT] = "object",
	[ANNOTATE_READY_OBJECT] = "ready_object",
	[ANNOTATE_HOLDER] = "holder",
	[ANNOTATE_HOLDER_TID] = "holder_tid",
	[ANNOTATE_HOLDER_SURE] = "holder_sure",
};

enum {
	/* ids of names: kinds, and the arrow's */
	NAME_WAKES = SLICE_KINDS,
};

struct writer {
	struct perfetto_trace trace;
	struct filter_kept kept;
	uint64_t flows, told;
	bool has_name[NAME_WAKES + 1];
};

/* A name that comes again and again is written once. */
static int put_name(struct writer *w, unsigned int id, const char *name)
{
	proto_number(&w->trace.message, EVENT_NAME_ID, id + 1ull);
	if (w->has_name[id])
		return 0;
	w->has_name[id] = true;
	return perfetto_intern(&w->trace, id + 1ull, name);
}

static void begin_event(struct writer *w, unsigned int type, uint64_t track)
{
	proto_number(&w->trace.message, EVENT_TYPE, type);
	proto_number(&w->trace.message, EVENT_TRACK, track);
}

/* The beginning of an arrow, on the track of the thread that woke; 0: there is none. */
static int put_waker(struct writer *w, const struct slice *slice, uint64_t *flow)
{
	uint64_t track;
	int err;

	*flow = 0;
	/* in other contexts the waker was only interrupted */
	if (slice->kind != SLICE_WOKEN || slice->began_before || !slice->waker ||
	    slice->context != FILM_WAIT_BY_THREAD || !w->kept.threads[slice->waker])
		return 0;
	err = perfetto_describe_thread(&w->trace, slice->waker, &track);
	if (err)
		return err;
	*flow = ++w->flows;
	begin_event(w, TYPE_INSTANT, track);
	err = put_name(w, NAME_WAKES, "wakes");
	proto_fixed64(&w->trace.message, EVENT_FLOW, *flow);
	perfetto_put_event(&w->trace, slice->start);
	return err;
}

/* Of a lock that was waited for: its holder, and how that is known. */
static int put_holder(struct writer *w, const struct slice *slice, const struct slice_lock *lock)
{
	const struct film_thread *holder = &w->trace.film->threads[lock->holder];
	int err;

	if (!slice_is_wait(slice->kind) || !lock->holder)
		return 0;
	perfetto_annotate(&w->trace, ANNOTATE_HOLDER_TID, ANNOTATION_UINT, holder->tid);
	err = perfetto_annotate_text(&w->trace, ANNOTATE_HOLDER, holder->comm);
	return err ? err
		   : perfetto_annotate_text(&w->trace, ANNOTATE_HOLDER_SURE,
					    lock_sure_words(lock->sure));
}

static int put_annotations(struct writer *w, const struct slice *slice,
			   const struct slice_evidence *evidence)
{
	struct perfetto_trace *t = &w->trace;
	char words[4096];
	int err = 0;

	if (slice->kind == SLICE_ON_CPU)
		perfetto_annotate(t, ANNOTATE_CPU, ANNOTATION_UINT, slice->cpu);
	if (slice_is_wait(slice->kind) && slice->call)
		err = perfetto_annotate_text(
			t, ANNOTATE_CALL,
			wait_call_name(t->film->info.arch, slice->state, slice->call));
	if (!err && slice_object(t->film, slice, evidence, words, sizeof(words)) == OBJECT_KNOWN)
		err = perfetto_annotate_text(t, ANNOTATE_OBJECT, words);
	if (!err && slice_is_wait(slice->kind) && evidence->ready_object)
		err = perfetto_annotate_text(t, ANNOTATE_READY_OBJECT,
					     object_name(t->film, evidence->ready_object));
	if (!err)
		err = put_holder(w, slice, &evidence->lock);
	if (slice->kind == SLICE_WOKEN && slice->waker)
		perfetto_annotate(t, ANNOTATE_WAKER, ANNOTATION_UINT,
				  t->film->threads[slice->waker].tid);
	if (slice->began_before)
		perfetto_annotate(t, ANNOTATE_BEGAN_BEFORE, ANNOTATION_BOOL, 1);
	if (slice->goes_on)
		perfetto_annotate(t, ANNOTATE_GOES_ON, ANNOTATION_BOOL, 1);
	return err;
}

static int put_begin(struct writer *w, const struct slice *slice,
		     const struct slice_evidence *evidence, uint64_t track, uint64_t flow)
{
	char words[256];
	int err = 0;

	begin_event(w, TYPE_BEGIN, track);
	/* the system call and what the kernel did: too many for a table */
	slice_words(w->trace.film, slice, words, sizeof(words));
	if (slice->kind == SLICE_WAIT + WAIT_OTHER)
		err = perfetto_put_text(&w->trace.message, EVENT_NAME, words);
	else
		err = put_name(w, slice->kind, words);
	if (!err)
		err = put_annotations(w, slice, evidence);
	if (flow)
		proto_fixed64(&w->trace.message, EVENT_LAST_FLOW, flow);
	perfetto_put_event(&w->trace, slice->start);
	return err;
}

static int write_slice(void *context, const struct slice *slice,
		       const struct slice_evidence *evidence)
{
	struct writer *w = context;
	uint64_t track, flow;
	int err;

	if (!w->kept.threads[slice->thread])
		return 0;
	err = perfetto_describe_thread(&w->trace, slice->thread, &track);
	if (!err)
		err = put_waker(w, slice, &flow);
	if (!err)
		err = put_begin(w, slice, evidence, track, flow);
	if (err)
		return err;
	begin_event(w, TYPE_END, track);
	perfetto_put_event(&w->trace, slice->end);
	w->told++;
	return w->trace.field.failed ? -ENOMEM : 0;
}

int perfetto_write_slices(struct film *film, const struct question *q, FILE *out, uint64_t *told,
			  struct fail *why)
{
	struct writer w = {0};
	uint32_t event = q->event ? film_find_event(film, q->event) : slices_event(film);
	uint64_t from, to, samples;
	int err = filter_span(&q->filter, &film->info, &from, &to, why);

	*told = 0;
	if (err)
		return err;
	err = filter_apply(&q->filter, film, &w.kept, why);
	if (!err)
		err = perfetto_begin(&w.trace, film, out, annotation_names,
				     sizeof(annotation_names) / sizeof(annotation_names[0]));
	if (!err)
		err = slices_each(film, event, from, to, write_slice, &w, why);
	if (!err)
		err = perfetto_put_machine(&w.trace, film, from, to, why);
	if (!err && !q->event)
		err = perfetto_put_samples(&w.trace, film, 0, q, &w.kept, &samples, why);
	*told = w.told;
	filter_kept_free(&w.kept);
	perfetto_end(&w.trace);
	return err == -ENOMEM ? fail_errno(why, err, NULL, "cannot tell what threads did") : err;
}
