// SPDX-License-Identifier: Apache-2.0
/*
 * The library in a process that runs already. A recorder maps it there by system calls, without the
 * dynamic linker, as the thread that makes them may be anywhere. So the library is not started then:
 * the words by which the driver library's entries jump are changed, and lead to gpu_stubs. The first
 * of these calls by any thread puts all words back, and starts the library: its caller could have
 * called dlopen() there itself. Threads that come at the same time go on to the driver. A process
 * that does not call the driver is left as it is.
 *
 * In the end the library's thread unsubscribes. It does so, too, when the recorder has not been
 * heard of for a while: it was killed.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "gpu.h"
#include "system_call.h"
#include "slots.h"

/* How often the thread looks whether it is to end, and how often it flushes. */
#define LOOK_NS 50000000
#define LOOKS	20

struct gpu_injection gpu_injection = {.phase = GPU_STARTED};

static struct memory_slot slots[GPU_STUBS];
static uint64_t count;
static uint64_t functions[GPU_STUBS]; /* that the words had */

bool gpu_is_late(void)
{
	return __atomic_load_n(&gpu_injection.phase, __ATOMIC_RELAXED) != GPU_STARTED;
}

static bool advance(uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n(&gpu_injection.phase, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

void gpu_arm(struct memory_slot *words, uint64_t most)
{
	count = most < GPU_STUBS ? most : GPU_STUBS;
	for (uint64_t i = 0; i < count; i++) {
		slots[i] = words[i];
		slots[i].from = words[i].to;
		slots[i].to = words[i].from;
		__atomic_store_n(&functions[i], words[i].from, __ATOMIC_RELAXED);
	}
	gpu_injection.pid = (uint64_t)system_call(SYS_getpid, 0, 0, 0, 0, 0);
	gpu_injection.is_stopped = 0;
	__atomic_store_n(&gpu_injection.phase, GPU_ARMED, __ATOMIC_RELEASE);
	slots_change(words, count);
}

void gpu_disarm(void)
{
	if (advance(GPU_ARMED, GPU_IDLE))
		slots_change(slots, count);
}

static bool is_over(void)
{
	return __atomic_load_n(&gpu_injection.is_stopped, __ATOMIC_RELAXED) ||
	       gpu_now() > __atomic_load_n(&gpu_injection.until, __ATOMIC_RELAXED);
}

static void *run(void *unused)
{
	const struct gpu_pause pause = {0, LOOK_NS};
	bool ends = false;

	for (uint64_t i = 1; !ends; i++) {
		nanosleep(&pause, NULL);
		ends = is_over();
		if (!ends && i % LOOKS == 0)
			gpu_flush();
	}
	gpu_end();
	advance(GPU_RUNNING, GPU_IDLE);
	return unused;
}

/* A forked child, which has the words, has no driver that works; a recorder that was killed reads
 * nothing. */
static void begin(void)
{
	uint64_t pid = (uint64_t)system_call(SYS_getpid, 0, 0, 0, 0, 0), next = GPU_IDLE;

	if (pid == gpu_injection.pid && gpu_can_run() && !is_over())
		next = gpu_begin() ? GPU_RUNNING : GPU_REFUSED;
	advance(GPU_LOADING, next);
	if (next == GPU_RUNNING && !gpu_start_thread(run)) {
		gpu_end();
		advance(GPU_RUNNING, GPU_REFUSED);
	}
}

/* Returns where the call goes on. */
uint64_t gpu_first_call(uint64_t number)
{
	if (advance(GPU_ARMED, GPU_LOADING)) {
		slots_change(slots, count);
		begin();
	}
	return __atomic_load_n(&functions[number], __ATOMIC_RELAXED);
}
