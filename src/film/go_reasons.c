// SPDX-License-Identifier: Apache-2.0
#include "film/go_reasons.h"

#include <stddef.h>

const char *go_reason_name(uint32_t reason)
{
	static const char *const names[FILM_GO_REASONS] = {
		[FILM_GO_OTHER] = "other",
		[FILM_GO_CHAN_RECEIVE] = "chan-receive",
		[FILM_GO_CHAN_SEND] = "chan-send",
		[FILM_GO_CHAN_NIL] = "chan-nil",
		[FILM_GO_SELECT] = "select",
		[FILM_GO_MUTEX] = "mutex",
		[FILM_GO_RWMUTEX] = "rwmutex",
		[FILM_GO_SEMACQUIRE] = "semacquire",
		[FILM_GO_COND] = "cond",
		[FILM_GO_WAITGROUP] = "waitgroup",
		[FILM_GO_IO] = "io",
		[FILM_GO_SLEEP] = "sleep",
		[FILM_GO_GC] = "gc",
		[FILM_GO_IDLE] = "runtime-idle",
		[FILM_GO_FUTURE] = "future",
		[FILM_GO_TASK] = "task",
		[FILM_GO_PARK] = "park",
		[FILM_GO_TIMED_PARK] = "timed-park",
	};

	return reason < FILM_GO_REASONS ? names[reason] : NULL;
}
