/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOCK_WORDS_H
#define QUERY_LOCK_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "film/film.h"
#include "film/names.h"

struct film;

/* The name of an enum film_lock_holder: "owner"; "": not known, or from a later version. */
const char *lock_sure_words(uint32_t sure);

/* What the display name of a lock is made of. */
struct lock_shown {
	uint64_t address;
	uint32_t place;	  /* as in struct film_lock */
	uint32_t process; /* process in which address is valid; 0: do not name it */
	uint32_t kind;
};

/* "mutex guard in app", "mutex 0x7f10 of app (12)", "flock of /run/app.lock" */
void lock_words(const struct film *film, const struct lock_shown *lock, char *words, size_t size);

/* Whether the address is that of the waiter's own word, which does not identify the lock. */
static inline bool lock_is_waiters_own(uint32_t kind)
{
	return kind == FILM_LOCK_PARKING_LOT || kind == FILM_LOCK_JAVA;
}

#endif
