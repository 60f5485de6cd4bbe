// SPDX-License-Identifier: Apache-2.0
#include "base/allowance.h"

#include <sys/resource.h>

#include "base/clock.h"

void allowance_begin(struct allowance *allowance, uint64_t most, uint64_t part, uint64_t round,
		     uint64_t now)
{
	*allowance = (struct allowance){
		.most = most,
		.part = part,
		.round = round,
		.left_of_round = (int64_t)round,
		.left = (int64_t)most,
		.left_to_others = (int64_t)(most - most / ALLOWANCE_KEPT_PART),
		.filled = now,
	};
}

void allowance_next_round(struct allowance *allowance, bool is_last)
{
	allowance->left_of_round = is_last ? allowance->left_to_others : (int64_t)allowance->round;
}

static void come_in(int64_t *left, uint64_t ns, uint64_t most)
{
	*left += (int64_t)ns;
	if (*left > (int64_t)most)
		*left = (int64_t)most;
}

bool allowance_ask(struct allowance *allowance, bool is_of_root, uint64_t now)
{
	uint64_t ns = now > allowance->filled ? (now - allowance->filled) / allowance->part : 0;

	if (ns) {
		/* what is less than one ns is not lost */
		allowance->filled += ns * allowance->part;
		come_in(&allowance->left, ns, allowance->most);
		come_in(&allowance->left_to_others, ns - ns / ALLOWANCE_KEPT_PART,
			allowance->most - allowance->most / ALLOWANCE_KEPT_PART);
	}
	if (!is_of_root && (allowance->left_to_others <= 0 || allowance->left_of_round <= 0))
		return false;
	return allowance->left > 0;
}

void allowance_spend(struct allowance *allowance, bool is_of_root, uint64_t ns)
{
	allowance->left -= (int64_t)ns;
	if (is_of_root)
		return;
	allowance->left_to_others -= (int64_t)ns;
	allowance->left_of_round -= (int64_t)ns;
}

static uint64_t ns_of(struct timeval time)
{
	return (uint64_t)time.tv_sec * 1000000000ull + (uint64_t)time.tv_usec * 1000ull;
}

/* What this thread has taken of CPUs, and children that have ended. */
static uint64_t used_ns(void)
{
	struct rusage children;

	/* DWARF is read by children */
	if (getrusage(RUSAGE_CHILDREN, &children))
		return clock_thread_ns();
	return clock_thread_ns() + ns_of(children.ru_utime) + ns_of(children.ru_stime);
}

bool allowance_start(struct allowance *allowance, bool is_of_root, uint64_t *begin)
{
	if (!allowance_ask(allowance, is_of_root, clock_ns()))
		return false;
	*begin = used_ns();
	return true;
}

void allowance_end(struct allowance *allowance, bool is_of_root, uint64_t begin)
{
	allowance_spend(allowance, is_of_root, used_ns() - begin);
}
