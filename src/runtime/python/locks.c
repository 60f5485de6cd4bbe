// SPDX-License-Identifier: Apache-2.0
/*
 * CPython's global lock (Include/internal/pycore_gil.h, Python/ceval_gil.h). Threads wait for it on
 * a condition variable within it, for 5 ms at a time; last_holder is the state of the thread that
 * has taken it last, and holds it while others wait. Since 3.11 a state has the number of its
 * thread (native_thread_id). Of interpreters with locks of their own, the first one's is known.
 */
#include "runtime/python/layout.h"

static const struct {
	unsigned int minor;
	uint16_t in_runtime;	 /* where _PyRuntime has it; 0: */
	uint16_t in_interpreter; /* where an interpreter has its address */
	uint16_t native_id;	 /* PyThreadState.native_thread_id */
} places[] = {
	{11, 360, 0, 160},
	{12, 0, 384, 144},
	{13, 0, 16, 160},
};

/* In the lock: what these versions have in common. */
enum {
	LAST_HOLDER = 8,
	CONDITION = 32,
	CONDITION_END = 80,
};

bool python_locks(const struct runtime_at *at, const void *state, struct lock_runtime *locks)
{
	const struct python_layout *layout = at->facts;
	uint64_t runtime = runtime_address(at, layout->runtime), interpreter, lock = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (places[i].minor != layout->minor)
			continue;
		if (places[i].in_runtime)
			lock = runtime + places[i].in_runtime;
		else if (runtime_read_u64(at, &interpreter,
					  runtime + layout->runtime_interpreters) ||
			 !interpreter ||
			 runtime_read_u64(at, &lock, interpreter + places[i].in_interpreter))
			return false;
		if (!lock)
			return false;
		*locks = (struct lock_runtime){
			.from = lock + CONDITION,
			.to = lock + CONDITION_END,
			.owner_at = lock + LAST_HOLDER,
			.owner_thread = places[i].native_id,
		};
		return true;
	}
	return false;
}
