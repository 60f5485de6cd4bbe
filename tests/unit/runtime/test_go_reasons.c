// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "runtime/go/waits.h"

static void reads_what_the_runtime_says(void **state)
{
	static const struct {
		const char *words;
		enum film_go_reason reason;
	} reasons[] = {
		{"chan receive", FILM_GO_CHAN_RECEIVE},
		{"chan send (nil chan)", FILM_GO_CHAN_NIL},
		{"select (durable)", FILM_GO_SELECT},
		{"sync.Mutex.Lock", FILM_GO_MUTEX},
		{"sync.RWMutex.Lock", FILM_GO_RWMUTEX},
		{"semacquire", FILM_GO_SEMACQUIRE},
		{"sync.Cond.Wait", FILM_GO_COND},
		{"sync.WaitGroup.Wait", FILM_GO_WAITGROUP},
		{"IO wait", FILM_GO_IO},
		{"sleep", FILM_GO_SLEEP},
		{"GC assist wait", FILM_GO_GC},
		{"force gc (idle)", FILM_GO_IDLE},
		{"something new", FILM_GO_OTHER},
		{"", FILM_GO_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		assert_int_equal(go_reason_of(reasons[i].words), reasons[i].reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_the_runtime_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
