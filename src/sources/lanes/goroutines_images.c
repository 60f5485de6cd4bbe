// SPDX-License-Identifier: Apache-2.0
#include "sources/lanes/goroutines_images.h"

#include <errno.h>

#include "base/clock.h"

static int add_places(struct probed_look *look, bool lanes)
{
	const uint64_t *offsets = ((const struct go_waits *)look->facts)->places;

	for (uint32_t i = 0; i < (lanes ? GOROUTINES_PLACES : GOROUTINES_PLACES_OF_WAITS); i++) {
		/* ready() calls runqput() */
		if (!offsets[i] || (i == GOROUTINES_READY && lanes && offsets[GOROUTINES_RUNQPUT]))
			continue;
		if (!probed_look_add(look, offsets[i], look->number,
				     GOROUTINES_COOKIE(look->number, i), false))
			return -ENOMEM;
	}
	return 0;
}

static void free_facts(void *facts)
{
	go_waits_free(facts);
}

static int look(struct probed_look *look, bool lanes, struct fail *why)
{
	struct go_waits *waits = look->facts;
	int err = go_waits_of(waits, look->image, why);

	/* what cannot be read is not known to be Go's */
	if (err)
		return err == -ENOTSUP ? err : -ENOENT;
	if (add_places(look, lanes)) {
		go_waits_free(waits);
		return fail(why, -ENOMEM, NULL, "out of memory");
	}
	waits->image.since = clock_ns();
	return 0;
}

/* A goroutine may have gone on as they were set: nothing has told. */
static void probed(void *facts)
{
	((struct go_waits *)facts)->image.since = clock_ns();
}

static int look_for_waits(struct probed_look *its, struct fail *why)
{
	return look(its, false, why);
}

static int look_for_lanes(struct probed_look *its, struct fail *why)
{
	return look(its, true, why);
}

#define KIND(how)                                                                                 \
	{                                                                                         \
		.size = sizeof(struct go_waits), .most = GOROUTINES_IMAGES_MAX,                   \
		.too_many = "too many programs of Go", .keep = true, .look = (how),               \
		.probed = probed, .free = free_facts, .shared = offsetof(struct go_waits, image), \
	}

const struct probed_kind goroutines_waits_kind = KIND(look_for_waits);
const struct probed_kind goroutines_lanes_kind = KIND(look_for_lanes);
