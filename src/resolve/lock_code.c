// SPDX-License-Identifier: Apache-2.0
#include "resolve/lock_code.h"

#include <string.h>

#include "bpf/unwind/abi.h"
#include "elf/file.h"

/* Images that are remembered, symbols of one that are looked at, and functions that are kept. */
#define IMAGES_MAX  4096
#define SYMBOLS_MAX (4u << 20)
#define RANGES_MAX  4096

/* At most this many frames from the leaf may stand between the system call and the function. */
#define FRAMES_LOOKED_AT 8

struct lock_range {
	uint64_t start, size;
	enum lock_code code;
};

struct lock_ranges {
	vec(struct lock_range) all;
};

/*
 * Names as they stand in symbol tables. within: a part of a mangled name, as hashes and paths
 * differ by version. Sources: glibc's nptl, CPython's Python/thread_pthread.h and
 * Python/parking_lot.c, Rust's library/std/src/sys (1.63 has another path than 1.80), the crate
 * parking_lot, Go's runtime/lock_futex.go.
 */
static const struct {
	const char *name;
	bool within;
	enum lock_code code;
} functions[] = {
	{"pthread_mutex_lock", false, LOCK_CODE_MUTEX},
	{"pthread_mutex_timedlock", false, LOCK_CODE_MUTEX},
	{"pthread_mutex_clocklock", false, LOCK_CODE_MUTEX},
	{"pthread_rwlock_rdlock", false, LOCK_CODE_READ},
	{"pthread_rwlock_timedrdlock", false, LOCK_CODE_READ},
	{"pthread_rwlock_clockrdlock", false, LOCK_CODE_READ},
	{"pthread_rwlock_wrlock", false, LOCK_CODE_WRITE},
	{"pthread_rwlock_timedwrlock", false, LOCK_CODE_WRITE},
	{"pthread_rwlock_clockwrlock", false, LOCK_CODE_WRITE},
	{"pthread_cond_wait", false, LOCK_CODE_EVENT},
	{"pthread_cond_timedwait", false, LOCK_CODE_EVENT},
	{"pthread_cond_clockwait", false, LOCK_CODE_EVENT},
	{"pthread_join", false, LOCK_CODE_EVENT},
	{"pthread_timedjoin_np", false, LOCK_CODE_EVENT},
	{"pthread_clockjoin_np", false, LOCK_CODE_EVENT},
	{"pthread_barrier_wait", false, LOCK_CODE_EVENT},
	{"sem_wait", false, LOCK_CODE_SEMAPHORE},
	{"sem_timedwait", false, LOCK_CODE_SEMAPHORE},
	{"sem_clockwait", false, LOCK_CODE_SEMAPHORE},
	{"PyThread_acquire_lock", false, LOCK_CODE_PYTHON},
	{"PyThread_acquire_lock_timed", false, LOCK_CODE_PYTHON},
	{"_PyParkingLot_Park", false, LOCK_CODE_PYTHON_PARKED},
	{"runtime.lock2", false, LOCK_CODE_GO},
	{"runtime.notesleep", false, LOCK_CODE_EVENT},
	{"runtime.notetsleep_internal", false, LOCK_CODE_EVENT},
	{"Mutex14lock_contended", true, LOCK_CODE_RUST_MUTEX},
	{"RwLock14read_contended", true, LOCK_CODE_RUST_RWLOCK},
	{"RwLock15write_contended", true, LOCK_CODE_RUST_RWLOCK},
	{"RawMutex9lock_slow", true, LOCK_CODE_PARKING_LOT},
	{"RawRwLock16lock_shared_slow", true, LOCK_CODE_PARKING_LOT},
	{"RawRwLock19lock_exclusive_slow", true, LOCK_CODE_PARKING_LOT},
	{"RawRwLock20lock_upgradable_slow", true, LOCK_CODE_PARKING_LOT},
	{"RawRwLock16wait_for_readers", true, LOCK_CODE_PARKING_LOT},
	{"11parking_lot7condvar7Condvar", true, LOCK_CODE_EVENT},
};

static enum lock_code code_named(const char *name)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (functions[i].within ? strstr(name, functions[i].name) != NULL
					: !strcmp(name, functions[i].name))
			return functions[i].code;
	return LOCK_CODE_NONE;
}

/*
 * Functions of languages, as their frames are called. start: more may follow. Sources: CPython's
 * Lib/threading.py and Lib/concurrent/futures/thread.py (since 3.11 with their classes), the JDK's
 * java.util.concurrent.locks.
 */
static const struct {
	const char *name;
	bool start;
	enum lock_code code;
} of_runtimes[] = {
	{"Condition.wait", false, LOCK_CODE_EVENT},
	{"wait", false, LOCK_CODE_EVENT},
	{"Thread.join", false, LOCK_CODE_EVENT},
	{"Thread._wait_for_tstate_lock", false, LOCK_CODE_EVENT},
	{"_wait_for_tstate_lock", false, LOCK_CODE_EVENT},
	{"_worker", false, LOCK_CODE_EVENT},
	{"_shutdown", false, LOCK_CODE_EVENT},
	{"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.", true,
	 LOCK_CODE_EVENT},
	{"java.util.concurrent.locks.AbstractQueuedLongSynchronizer$ConditionObject.", true,
	 LOCK_CODE_EVENT},
	{"java.util.concurrent.locks.ReentrantLock", true, LOCK_CODE_JAVA},
	{"java.util.concurrent.locks.ReentrantReadWriteLock", true, LOCK_CODE_JAVA},
	{"java.util.concurrent.locks.StampedLock", true, LOCK_CODE_JAVA},
	{"jdk.internal.misc.Unsafe.park", false, LOCK_CODE_PARK},
	{"sun.misc.Unsafe.park", false, LOCK_CODE_PARK},
};

enum lock_code lock_code_named(const char *function)
{
	for (size_t i = 0; i < sizeof(of_runtimes) / sizeof(of_runtimes[0]); i++) {
		size_t length = strlen(of_runtimes[i].name);

		if (!strncmp(function, of_runtimes[i].name, length) &&
		    (of_runtimes[i].start || !function[length]))
			return of_runtimes[i].code;
	}
	return LOCK_CODE_NONE;
}

static bool has_code(const struct lock_frames *frames, enum lock_code code)
{
	return frames->codes >> code & 1;
}

enum lock_code lock_code_with(enum lock_code native, const struct lock_frames *frames)
{
	if (native == LOCK_CODE_PYTHON || native == LOCK_CODE_PYTHON_PARKED) {
		if (!frames->codes || frames->leaf == LOCK_CODE_UNKNOWN)
			return LOCK_CODE_UNKNOWN;
		return frames->leaf == LOCK_CODE_EVENT ? LOCK_CODE_EVENT : native;
	}
	if (native == LOCK_CODE_EVENT && frames->leaf == LOCK_CODE_PARK &&
	    has_code(frames, LOCK_CODE_JAVA) && !has_code(frames, LOCK_CODE_EVENT))
		return LOCK_CODE_JAVA;
	return native;
}

static bool add_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct lock_ranges *ranges = context;
	enum lock_code code = LOCK_CODE_NONE;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_size)
		code = code_named(elf_strings_get(names, symbol->st_name));
	return !code || (vec_push(&ranges->all,
				  (struct lock_range){symbol->st_value, symbol->st_size, code}) &&
			 ranges->all.count < RANGES_MAX);
}

static void read_image(const struct image *image, struct lock_ranges *ranges)
{
	struct elf_file file;

	if (image->kind != IMAGE_FILE || image->fd < 0 || elf_file_open(&file, image->fd))
		return;
	/* without memory, code that is not known is of no lock */
	(void)!elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, add_symbol, ranges);
	if (ranges->all.count < RANGES_MAX)
		(void)!elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, add_symbol, ranges);
	elf_file_close(&file);
}

/* Null: no memory. */
static const struct lock_ranges *ranges_of(struct lock_codes *codes, const struct image *image)
{
	const uint64_t what[] = {image->device, image->inode, image->kind,
				 hash_bytes(image->build_id, image->build_id_size)};
	uint64_t key = hash_bytes(what, sizeof(what));
	const uint64_t *known = map_get(&codes->images, key);

	if (known)
		return &codes->ranges_of.at[*known - 1];
	if (codes->ranges_of.count >= IMAGES_MAX)
		lock_codes_free(codes);
	if (!vec_push(&codes->ranges_of, (struct lock_ranges){0}))
		return NULL;
	if (!map_put(&codes->images, key, codes->ranges_of.count)) {
		codes->ranges_of.count--;
		return NULL;
	}
	read_image(image, vec_last(&codes->ranges_of));
	return vec_last(&codes->ranges_of);
}

static enum lock_code code_at(struct lock_codes *codes, const struct process *process, uint64_t pc)
{
	const struct mapping *mapping = process_mapping(process, pc);
	const struct lock_ranges *ranges = mapping ? ranges_of(codes, mapping->image) : NULL;

	if (ranges)
		vec_foreach (&ranges->all, range)
			if (pc - mapping->bias - range->start < range->size)
				return range->code;
	return LOCK_CODE_NONE;
}

enum lock_code lock_code_of(struct lock_codes *codes, const struct process *process,
			    const uint64_t *words, uint32_t count)
{
	enum lock_code found = LOCK_CODE_NONE;
	uint32_t looked = 0;

	for (uint32_t i = 0; i < count && looked < FRAMES_LOOKED_AT; i++, looked++) {
		enum lock_code code;

		if (words[i] & UNWIND_IS_RUNTIME) {
			i++;
			continue;
		}
		code = code_at(codes, process, words[i] & ~UNWIND_GUESS);
		/* what a lock is made of is not the lock */
		if (code && code != LOCK_CODE_SEMAPHORE)
			return code;
		if (code)
			found = code;
	}
	return found;
}

void lock_codes_free(struct lock_codes *codes)
{
	vec_foreach (&codes->ranges_of, ranges)
		vec_free(&ranges->all);
	vec_free(&codes->ranges_of);
	map_free(&codes->images);
}
