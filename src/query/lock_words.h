/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOCK_WORDS_H
#define QUERY_LOCK_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "film/film.h"
#include "film/names.h"

struct film;

/* What a lock of an enum film_lock_kind is called, "mutex"; "lock" for one of a later version. */
const char *lock_kind_words(uint32_t kind);

/* How an enum film_lock_holder is known, "owner"; "": it is not, or a later version's. */
const char *lock_sure_words(uint32_t sure);

/* What a lock is shown by. */
struct lock_shown {
	uint64_t address;
	uint32_t place;	  /* as of a struct film_lock */
	uint32_t process; /* named beside an address, which means nothing elsewhere; 0: not */
	uint32_t kind;
};

/* "mutex guard in app", "mutex 0x7f10 of app (12)", "flock of /run/app.lock" */
void lock_words(const struct film *film, const struct lock_shown *lock, char *words, size_t size);

/* Whether the address is that of the waiter's own word, which does not tell locks apart. */
static inline bool lock_is_waiters_own(uint32_t kind)
{
	return kind == FILM_LOCK_PARKING_LOT || kind == FILM_LOCK_JAVA;
}

#endif
