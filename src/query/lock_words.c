// SPDX-License-Identifier: Apache-2.0
#include "query/lock_words.h"

#include <stdio.h>

#include "film/reader.h"

/* The name of an enum film_lock_kind: "mutex"; "lock" for a kind from a later version. */
static const char *lock_kind_words(uint32_t kind)
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
		[FILM_LOCK_FLOCK] = "flock",
		[FILM_LOCK_RECORD] = "fcntl lock",
		[FILM_LOCK_OPEN_FILE] = "fcntl lock (OFD)",
	};

	return kind < sizeof(words) / sizeof(words[0]) && words[kind] ? words[kind] : "lock";
}

const char *lock_sure_words(uint32_t sure)
{
	static const char *const words[] = {
		[FILM_HOLDER_NONE] = "",
		[FILM_HOLDER_OWNER] = "owner",
		[FILM_HOLDER_LAST] = "last holder",
		[FILM_HOLDER_RELEASER] = "releaser",
	};

	return sure < sizeof(words) / sizeof(words[0]) ? words[sure] : "";
}

void lock_words(const struct film *film, const struct lock_shown *lock, char *words, size_t size)
{
	const struct film_frame *place = &film->frames[lock->place];
	const struct film_process *process = &film->processes[lock->process];
	const char *image = name_of_image(film->images[place->image].path);
	const char *what = lock_kind_words(lock->kind);
	int used;

	if (film_lock_is_of_file(lock->kind)) {
		if (lock->place && place->function)
			snprintf(words, size, "%s of %.200s", what,
				 film->functions[place->function].name);
		else
			snprintf(words, size, "%s of inode %llu", what,
				 (unsigned long long)lock->address);
		return;
	}
	if (lock->place && place->function) {
		snprintf(words, size, "%s %.150s in %.60s", what,
			 film->functions[place->function].name, image);
		return;
	}
	if (lock->place) {
		snprintf(words, size, "%s %.60s+0x%llx", what, image,
			 (unsigned long long)place->address);
		return;
	}
	used = lock_is_waiters_own(lock->kind) ? snprintf(words, size, "%s", what)
					       : snprintf(words, size, "%s 0x%llx", what,
							  (unsigned long long)lock->address);
	if (lock->process && used >= 0 && (size_t)used < size)
		snprintf(words + used, size - (size_t)used, " of %.60s (%u)", process->comm,
			 process->pid);
}
