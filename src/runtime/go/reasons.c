// SPDX-License-Identifier: Apache-2.0
#include "runtime/go/waits.h"

#include <string.h>

/*
 * runtime/runtime2.go, waitReasonStrings, of Go 1.17 to 1.26. Those of synctest are as others, with
 * words behind.
 */
static const struct {
	const char *words;
	enum film_go_reason reason;
} known[] = {
	{"chan receive", FILM_GO_CHAN_RECEIVE},
	{"chan send", FILM_GO_CHAN_SEND},
	{"chan receive (nil chan)", FILM_GO_CHAN_NIL},
	{"chan send (nil chan)", FILM_GO_CHAN_NIL},
	{"select (no cases)", FILM_GO_CHAN_NIL},
	{"chan receive (durable)", FILM_GO_CHAN_RECEIVE},
	{"chan send (durable)", FILM_GO_CHAN_SEND},
	{"chan receive (synctest)", FILM_GO_CHAN_RECEIVE},
	{"chan send (synctest)", FILM_GO_CHAN_SEND},
	{"select", FILM_GO_SELECT},
	{"select (durable)", FILM_GO_SELECT},
	{"select (synctest)", FILM_GO_SELECT},
	{"sync.Mutex.Lock", FILM_GO_MUTEX},
	{"sync.RWMutex.RLock", FILM_GO_RWMUTEX},
	{"sync.RWMutex.Lock", FILM_GO_RWMUTEX},
	{"semacquire", FILM_GO_SEMACQUIRE},
	{"sync.Cond.Wait", FILM_GO_COND},
	{"sync.WaitGroup.Wait", FILM_GO_WAITGROUP},
	{"sync.WaitGroup.Wait (durable)", FILM_GO_WAITGROUP},
	{"sync.WaitGroup.Wait (synctest)", FILM_GO_WAITGROUP},
	{"IO wait", FILM_GO_IO},
	{"sleep", FILM_GO_SLEEP},
	{"GC assist marking", FILM_GO_GC},
	{"GC assist wait", FILM_GO_GC},
	{"garbage collection", FILM_GO_GC},
	{"garbage collection scan", FILM_GO_GC},
	{"wait for GC cycle", FILM_GO_GC},
	{"GC mark termination", FILM_GO_GC},
	{"GC weak to strong wait", FILM_GO_GC},
	{"stopping the world", FILM_GO_GC},
	{"flushing proc caches", FILM_GO_GC},
	{"GC sweep wait", FILM_GO_IDLE},
	{"GC scavenge wait", FILM_GO_IDLE},
	{"GC worker (idle)", FILM_GO_IDLE},
	{"GC worker (active)", FILM_GO_IDLE},
	{"force gc (idle)", FILM_GO_IDLE},
	{"finalizer wait", FILM_GO_IDLE},
	{"cleanup wait", FILM_GO_IDLE},
	{"timer goroutine (idle)", FILM_GO_IDLE},
	{"trace reader (blocked)", FILM_GO_IDLE},
	{"GOMAXPROCS updater (idle)", FILM_GO_IDLE},
};

enum film_go_reason go_reason_of(const char *words)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].words, words))
			return known[i].reason;
	return FILM_GO_OTHER;
}
