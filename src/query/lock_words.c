// SPDX-License-Identifier: Apache-2.0
#include "query/lock_words.h"

const char *lock_kind_words(uint32_t kind)
{
	static const char *const words[] = {
		[FILM_LOCK_WORD] = "futex lock",
		[FILM_LOCK_MUTEX] = "mutex",
		[FILM_LOCK_MUTEX_PI] = "PI mutex",
		[FILM_LOCK_MUTEX_ROBUST] = "robust mutex",
		[FILM_LOCK_RWLOCK_READ] = "rwlock (read)",
		[FILM_LOCK_RWLOCK_WRITE] = "rwlock (write)",
		[FILM_LOCK_RUST_MUTEX] = "Rust mutex",
		[FILM_LOCK_RUST_RWLOCK] = "Rust rwlock",
		[FILM_LOCK_PARKING_LOT] = "parking_lot",
		[FILM_LOCK_GIL] = "Python GIL",
		[FILM_LOCK_PYTHON] = "Python lock",
		[FILM_LOCK_MONITOR] = "Java monitor",
		[FILM_LOCK_JAVA] = "java.util.concurrent lock",
		[FILM_LOCK_GO] = "Go runtime lock",
		[FILM_LOCK_JAVA_OBJECT] = "java.util.concurrent lock",
	};

	return kind < sizeof(words) / sizeof(words[0]) && words[kind] ? words[kind] : "lock";
}
