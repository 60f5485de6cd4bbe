/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUERY_LOCK_WORDS_H
#define QUERY_LOCK_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "film/film.h"
#include "film/names.h"

/* What a lock of an enum film_lock_kind is called, "mutex"; "lock" for one of a later version. */
const char *lock_kind_words(uint32_t kind);

/* Whether the address is that of the waiter's own word, which does not tell locks apart. */
static inline bool lock_is_waiters_own(uint32_t kind)
{
	return kind == FILM_LOCK_PARKING_LOT || kind == FILM_LOCK_JAVA;
}

#endif
