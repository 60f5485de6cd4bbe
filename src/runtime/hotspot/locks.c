// SPDX-License-Identifier: Apache-2.0
/*
 * Monitors of Java objects. A thread that waits for one notes it in
 * JavaThread::_current_pending_monitor (share/runtime/objectMonitor.cpp, ObjectMonitor::enter).
 * ObjectMonitor::_owner is, up to JDK 23, the owner's JavaThread, or an address in its stack where
 * it had locked the object before the monitor was made; since JDK 24 it is the number of the
 * owner's java.lang.Thread (JavaThread::_monitor_owner_id), or 1 where the owner is not known to
 * the monitor yet: that one is only released by a thread that can be seen to do so.
 */
#include "runtime/hotspot/hotspot.h"

#include <string.h>

/* Threads that are looked at to find an owner. */
#define THREADS_MAX	4096

#define ANONYMOUS_OWNER 1

static bool has(const struct hotspot *jvm, enum hotspot_fact fact)
{
	return jvm->facts[fact] <= UINT16_MAX;
}

bool hotspot_locks(const struct runtime_at *at, const void *state, struct lock_runtime *locks)
{
	const struct hotspot *jvm = state;

	if (!jvm->data.thread || !has(jvm, HOTSPOT_THREAD_PENDING) ||
	    !has(jvm, HOTSPOT_MONITOR_OWNER) || !has(jvm, HOTSPOT_THREAD_OS) ||
	    !has(jvm, HOTSPOT_OS_NUMBER))
		return false;
	*locks = (struct lock_runtime){
		.tls = jvm->data.thread,
		.pending = (uint32_t)jvm->facts[HOTSPOT_THREAD_PENDING],
		.owner_at = jvm->facts[HOTSPOT_MONITOR_OWNER],
	};
	/* without them, such a lock has a releaser */
	if (!hotspot_parks(at, jvm, &locks->park))
		memset(&locks->park, 0, sizeof(locks->park));
	return true;
}

/* Threads of the JVM's own are no JavaThreads: what they have at that place is something else. */
bool hotspot_lock_thread(const struct runtime_at *at, const void *state, uint64_t thread)
{
	uint64_t threads[THREADS_MAX];
	int count = hotspot_list_threads(at, state, threads, THREADS_MAX);

	for (int i = 0; i < count; i++)
		if (threads[i] == thread)
			return true;
	return false;
}

/* Whether a thread is the owner. */
static bool is_owner(const struct runtime_at *at, const struct hotspot *jvm, uint64_t thread,
		     uint64_t owner)
{
	uint64_t base, size, id;

	if (has(jvm, HOTSPOT_THREAD_OWNER_ID))
		return !runtime_read_u64(at, &id, thread + jvm->facts[HOTSPOT_THREAD_OWNER_ID]) &&
		       id == owner;
	if (thread == owner)
		return true;
	return has(jvm, HOTSPOT_THREAD_STACK) && has(jvm, HOTSPOT_THREAD_STACK_SIZE) &&
	       !runtime_read_u64(at, &base, thread + jvm->facts[HOTSPOT_THREAD_STACK]) &&
	       !runtime_read_u64(at, &size, thread + jvm->facts[HOTSPOT_THREAD_STACK_SIZE]) &&
	       owner < base && base - owner <= size;
}

static uint32_t number_of(const struct runtime_at *at, const struct hotspot *jvm, uint64_t thread)
{
	uint64_t os, number;

	if (runtime_read_u64(at, &os, thread + jvm->facts[HOTSPOT_THREAD_OS]) ||
	    hotspot_read_number(at, os + jvm->facts[HOTSPOT_OS_NUMBER], 4, &number))
		return 0;
	return (uint32_t)number;
}

uint32_t hotspot_lock_owner(const struct runtime_at *at, const void *state, uint64_t owner)
{
	const struct hotspot *jvm = state;
	uint64_t threads[THREADS_MAX];
	int count;

	if (owner <= ANONYMOUS_OWNER)
		return 0;
	count = hotspot_list_threads(at, jvm, threads, THREADS_MAX);
	for (int i = 0; i < count; i++)
		if (is_owner(at, jvm, threads[i], owner))
			return number_of(at, jvm, threads[i]);
	return 0;
}
