// SPDX-License-Identifier: Apache-2.0
/* One slice, by the moment that was pointed at. */
#include "query/lanes.h"

#include <errno.h>

#define FIRST_LOOK 1000000ull	    /* ns around the moment */
#define WHOLE	   1000000000000ull /* beyond that a slice is cut: its ends are not looked for */

struct looker {
	const struct film *film;
	const struct lane_id *lane;
	uint64_t at;
	struct lane_slice *found;
};

static int match_slice(void *context, const struct slice *slice,
		       const struct slice_evidence *evidence)
{
	const struct looker *l = context;
	const struct film_thread *thread = &l->film->threads[slice->thread];

	if (slice->start > l->at || slice->end <= l->at || thread->tid != l->lane->tid ||
	    l->film->processes[thread->process].pid != l->lane->pid)
		return 0;
	l->found->slice = *slice;
	l->found->evidence = *evidence;
	l->found->is_found = true;
	return 0;
}

/* The ends of the film are known; beyond them no look finds more. */
static bool is_whole(const struct film *film, const struct slice *slice, uint64_t from, uint64_t to)
{
	return (!slice->began_before || from <= film->info.start) &&
	       (!slice->goes_on || to > film->info.end);
}

static struct device_share *works_of(void *context, uint32_t unused)
{
	struct lane_slice *found = context;

	(void)unused;
	return found->works;
}

/* What devices ran in it, if it is a wait for one. */
static int find_works(struct film *film, struct lane_slice *found, struct fail *why)
{
	const struct slice *slice = &found->slice;
	struct device_works works;
	struct device_rans rans = {0};
	int err;

	if (!found->is_found || !slice_is_wait(slice->kind))
		return 0;
	err = device_works_load(&works, film, slice->start, slice->end, why);
	if (!err && device_rans_add(&rans, &works, slice->thread, slice->start, slice->end, 0))
		err = fail_errno(why, -ENOMEM, NULL, "cannot read what devices ran");
	if (!err)
		device_rans_sum(&rans, works_of, found);
	vec_free(&rans);
	device_works_free(&works);
	return err;
}

int lanes_slice_at(struct film *film, uint32_t event, const struct lane_id *lane, uint64_t at,
		   struct lane_slice *found, struct fail *why)
{
	struct looker l = {film, lane, at, found};

	*found = (struct lane_slice){0};
	for (uint64_t around = FIRST_LOOK;; around *= 32) {
		uint64_t from = at > around ? at - around : 0;
		uint64_t to = at < UINT64_MAX - around ? at + around : UINT64_MAX;
		int err = slices_each(film, event, from, to, match_slice, &l, why);

		if (err || !found->is_found || around > WHOLE ||
		    is_whole(film, &found->slice, from, to))
			return err ? err : find_works(film, found, why);
	}
}
