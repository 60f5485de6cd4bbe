// SPDX-License-Identifier: Apache-2.0
/*
 * The addresses of samples that are in use: open addressing, one word a slot, in chains that end at
 * an empty slot. free() reads it without a lock. What it looks for was put there before the program
 * had the address, so it finds it, if these hold:
 *
 *	a slot on the way to an address is never emptied while that address is there: what is
 *	removed leaves a word that is no address, which is emptied only if the next slot is empty;
 *
 *	a larger table has all of the smaller one before it takes its place, and the smaller one
 *	is never given back: all together they are a third larger than the last one.
 *
 * Most addresses that are given back are of no sample. So before the slots, a filter is asked: one
 * bit for each of 8 times as many places as there are slots, which is set while an address of that
 * place is in the table. It stays in the cache, where the slots would push out what the program
 * has there. How many addresses have set a bit is counted, so that the last one clears it. The bit
 * is set, whatever its count is: a child may be forked between the two.
 *
 * Changes are made under a lock, which is not waited for without end: a thread that does not get it
 * goes without its sample. It lies in a page that is empty in a process that was forked, where the
 * thread that holds it is not; but a child of vfork(2), which shares the memory, shares the lock.
 */
#include "memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "memory_places.h"

#define FIRST_SLOTS 512u
#define MOST_SLOTS  (1u << 21)

#define EMPTY	    0
#define REMOVED	    1

#define LOCK_TRIES  20000

/* Places of the filter for each slot, and words of the filter for so many slots. */
#define PLACES_A_SLOT	8u
#define WORDS_OF(slots) ((slots)*PLACES_A_SLOT / 64)

/* A count that is reached is kept: what it counts may be more. */
#define COUNT_MAX 255

static uint64_t first_slots[FIRST_SLOTS];
static uint8_t first_counts[FIRST_SLOTS * PLACES_A_SLOT];

static struct {
	struct memory_table table;
	uint64_t filter[WORDS_OF(FIRST_SLOTS)];
} first MEMORY_HOT
	__attribute__((aligned(64))) = {.table = {.filter_mask = WORDS_OF(FIRST_SLOTS) - 1,
						  .mask = FIRST_SLOTS - 1,
						  .slots = first_slots,
						  .counts = first_counts}};

/* All bits are set. */
static struct {
	struct memory_table table;
	uint64_t filter[1];
} all = {.filter = {UINT64_MAX}};

struct memory_table *memory_table MEMORY_HOT = &first.table;

static uint32_t held;	    /* slots that are not empty */
static uint32_t *lock_word; /* in a page of its own; null: not made yet */

#define LOCK_BYTES 4096

/* Several threads may make one; all take the same. */
static uint32_t *make_lock(void)
{
	long page = memory_system_call(SYS_mmap, 0, LOCK_BYTES, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1);
	uint32_t *other = NULL;

	if (memory_failed(page))
		return NULL;
	if (!memory_failed(
		    memory_system_call(SYS_madvise, page, LOCK_BYTES, MADV_WIPEONFORK, 0, 0)) &&
	    __atomic_compare_exchange_n(&lock_word, &other, (uint32_t *)page, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return (uint32_t *)page;
	memory_system_call(SYS_munmap, page, LOCK_BYTES, 0, 0, 0);
	return other;
}

static bool lock(void)
{
	uint32_t *word = __atomic_load_n(&lock_word, __ATOMIC_ACQUIRE);

	if (!word)
		word = make_lock();
	for (int i = 0; word && i < LOCK_TRIES; i++) {
		if (!__atomic_load_n(word, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE))
			return true;
		__builtin_ia32_pause();
	}
	return false;
}

static void unlock(void)
{
	__atomic_store_n(lock_word, 0, __ATOMIC_RELEASE);
}

static uint64_t home_of(const struct memory_table *table, uint64_t address)
{
	return (address * MEMORY_HASH >> 32) & table->mask;
}

/* memory_x86_64.S does the same (look_up). */
static uint64_t word_of(const struct memory_table *table, uint64_t address)
{
	return (address * MEMORY_HASH >> 38) & table->filter_mask;
}

static uint64_t bit_of(uint64_t address)
{
	return address * MEMORY_HASH >> 32 & 63;
}

static void filter_add(struct memory_table *table, uint64_t address)
{
	uint64_t word = word_of(table, address), bit = bit_of(address);
	uint8_t *count = &table->counts[word * 64 + bit];

	if (*count < COUNT_MAX)
		++*count;
	__atomic_store_n(&table->filter[word], table->filter[word] | 1ull << bit, __ATOMIC_RELAXED);
}

static void filter_remove(struct memory_table *table, uint64_t address)
{
	uint64_t word = word_of(table, address), bit = bit_of(address);
	uint8_t *count = &table->counts[word * 64 + bit];

	if (*count < COUNT_MAX && !--*count)
		__atomic_store_n(&table->filter[word], table->filter[word] & ~(1ull << bit),
				 __ATOMIC_RELAXED);
}

static uint64_t read_slot(const struct memory_table *table, uint64_t at)
{
	return __atomic_load_n(&table->slots[at], __ATOMIC_RELAXED);
}

static void write_slot(struct memory_table *table, uint64_t at, uint64_t word)
{
	__atomic_store_n(&table->slots[at], word, __ATOMIC_RELAXED);
}

/* Where it is; -1: nowhere. */
static int64_t find(const struct memory_table *table, uint64_t address)
{
	uint64_t at = home_of(table, address);

	for (uint64_t i = 0; i <= table->mask; i++, at = (at + 1) & table->mask) {
		uint64_t word = read_slot(table, at);

		if (word == address)
			return (int64_t)at;
		if (word == EMPTY)
			break;
	}
	return -1;
}

/* Returns whether a slot was taken that was empty. The table has one, and not the address. */
static bool put(struct memory_table *table, uint64_t address)
{
	uint64_t at = home_of(table, address);

	filter_add(table, address);
	for (;;) {
		uint64_t word = read_slot(table, at);

		if (word == EMPTY || word == REMOVED) {
			write_slot(table, at, address);
			return word == EMPTY;
		}
		at = (at + 1) & table->mask;
	}
}

static bool grow(struct memory_table *old)
{
	uint64_t slots = (old->mask + 1) * 4, words = WORDS_OF(slots);
	struct memory_table *table;
	long got;

	if (slots > MOST_SLOTS || old == &all.table)
		return false;
	got = memory_system_call(
		SYS_mmap, 0,
		(long)(sizeof(*table) + (words + slots) * sizeof(uint64_t) + slots * PLACES_A_SLOT),
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (memory_failed(got))
		return false;
	table = (struct memory_table *)got;
	table->filter_mask = words - 1;
	table->mask = slots - 1;
	table->slots = table->filter + words;
	table->counts = (uint8_t *)(table->slots + slots);
	held = 0;
	for (uint64_t i = 0; i <= old->mask; i++) {
		uint64_t word = read_slot(old, i);

		if (word > REMOVED)
			held += put(table, word);
	}
	__atomic_store_n(&memory_table, table, __ATOMIC_RELEASE);
	return true;
}

bool memory_table_add(uint64_t address)
{
	struct memory_table *table;
	bool done = false;

	if (!lock())
		return false;
	table = memory_table;
	/* chains stay short; half of the largest one may be in use */
	if (held >= (table->mask + 1) / 4 && grow(table))
		table = memory_table;
	if (table != &all.table && held < (table->mask + 1) / 2) {
		if (find(table, address) < 0)
			held += put(table, address);
		done = true;
	}
	unlock();
	return done;
}

bool memory_table_has(uint64_t address)
{
	const struct memory_table *table = __atomic_load_n(&memory_table, __ATOMIC_ACQUIRE);
	uint64_t word = __atomic_load_n(&table->filter[word_of(table, address)], __ATOMIC_RELAXED);

	return address > REMOVED && word >> bit_of(address) & 1 && find(table, address) >= 0;
}

bool memory_table_remove(uint64_t address)
{
	struct memory_table *table;
	int64_t at;

	if (!lock())
		return false;
	table = memory_table;
	at = find(table, address);
	if (at >= 0) {
		uint64_t slot = (uint64_t)at;

		write_slot(table, slot, REMOVED);
		filter_remove(table, address);
		/* the end of a chain is emptied, from behind */
		while (read_slot(table, slot) == REMOVED &&
		       read_slot(table, (slot + 1) & table->mask) == EMPTY) {
			write_slot(table, slot, EMPTY);
			held--;
			slot = (slot - 1) & table->mask;
		}
	}
	unlock();
	return true;
}

void memory_table_all(void)
{
	__atomic_store_n(&memory_table, &all.table, __ATOMIC_RELEASE);
}
