/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_JAVA_PLACES_H
#define INJECT_JAVA_PLACES_H

#include <stdint.h>

#include "memory_places.h"

/*
 * What libstackcam-java.so and the recorder agree on. Its tables have the names and the form of
 * those of libstackcam-memory.so (memory_places.h); its only entry is MEMORY_ENTRY_STATE, a struct
 * java_state.
 */
#define JAVA_LIBRARY "libstackcam-java.so"

/* A JVM loads it with one of these as its options: two numbers of struct java_state, or to stop. */
#define JAVA_OPTIONS_STOP  "stop"
#define JAVA_OPTIONS_START "start,%llu,%llu" /* interval, owner */

/* A recorder that has not written its beat for so long is gone. */
#define JAVA_BEAT_NS 10000000000ll

/* What Agent_OnAttach() returns. */
#define JAVA_DONE    0
#define JAVA_TOO_OLD 101 /* before Java 11 */
#define JAVA_TAKEN   102 /* another agent takes samples of allocations, */
#define JAVA_BUSY    103 /* or another recorder by this library */
#define JAVA_REFUSED 104 /* the JVM refuses something else */
#define JAVA_EARLY   105 /* the JVM starts still: another try finds it later */

/* The name of a sample: the object's tag, which is not an address of the process's. */
#define JAVA_TAG (1ull << 62)

struct java_state {
	uint64_t interval; /* mean bytes between samples */
	uint64_t beat;	   /* a recorder that lives counts here */
	uint64_t owner;	   /* a number of the recorder's choice */
	uint64_t held;	   /* samples that are in use */
	uint64_t left_out; /* of which the end will not be seen, as there were too many */
};

#endif
