// SPDX-License-Identifier: Apache-2.0
/*
 * The addresses of samples that are in use. An address is in one of the eight slots of its bucket,
 * a line of the cache. No thread waits for another one here: one that has a lock may lose its CPU,
 * and those that wait for it would have to wait as long, or go without their samples.
 *
 * Most addresses that are given back are of no sample. So before the slots, a filter is asked: 64
 * bits for each bucket, of which one is set for each address in it. It stays in the cache, where
 * the slots would push out what the program has there.
 *
 *	A thread that adds an address puts it into a slot, and then sets its bit. The program gets
 *	the address only after that, so the thread that gives it back finds it.
 *
 *	A thread that removes one empties its slot, and then sets the bits to those of what is in the
 *	bucket. One that is put there meanwhile could lose its bit. So the bits have a version, which
 *	each addition counts up, and both change in one instruction, if neither has changed meanwhile.
 *
 * A table that is filled is copied into one that is four times as large, and never given back: all
 * together they are a third larger than the last one. Until the larger one takes its place, what
 * changes is changed in both. What is copied may have been removed just then: it stays until the
 * program gives back what has that address next, of which the recorder knows no sample.
 *
 *	One thread copies, while there is room for what the others add. If it has no CPU for long, a
 *	thread that meets a full bucket copies all, too. Who is done first says so, in one word with
 *	the place of the larger table, which takes the place from then on. The old one is not kept
 *	right any more, and all others stop: each has read an address before it looks at that word,
 *	so that it adds one at most that is not in use. If the larger table has no room for all, the
 *	word gets the place of one that is larger still, and all is copied again.
 *
 * A child that is forked has the table as it was. If that was being copied, the thread which did is
 * not there: it is as if it had no CPU.
 */
#include "memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "memory_places.h"

#define SLOTS_A_BUCKET 8u

#define FIRST_BUCKETS  64u
#define MOST_BUCKETS   (1u << 18)
#define GROWTH	       4

#define EMPTY	       0

static uint64_t first_slots[FIRST_BUCKETS * SLOTS_A_BUCKET] __attribute__((aligned(64)));

static struct {
	struct memory_table table;
	struct memory_bits filter[FIRST_BUCKETS];
} first MEMORY_HOT __attribute__((aligned(64))) = {.table = {.words_mask = 2 * (FIRST_BUCKETS - 1),
							     .mask = FIRST_BUCKETS - 1,
							     .slots = first_slots}};

/* All bits are set. */
static struct {
	struct memory_table table;
	struct memory_bits filter[1];
} all = {.filter = {{.bits = UINT64_MAX}}};

struct memory_table *memory_table MEMORY_HOT = &first.table;

/* memory_x86_64.S does the same (look_up), as it does what bit_of() does. */
static uint64_t bucket_of(const struct memory_table *table, uint64_t address)
{
	return (address * MEMORY_HASH >> 38) & table->mask;
}

static uint64_t bit_of(uint64_t address)
{
	return 1ull << (address * MEMORY_HASH >> 32 & 63);
}

static uint64_t *slots_of(const struct memory_table *table, uint64_t address)
{
	return table->slots + bucket_of(table, address) * SLOTS_A_BUCKET;
}

/* The slot has what was expected, and gets another word. */
static bool replace(uint64_t *slot, uint64_t from, uint64_t to)
{
	return __atomic_load_n(slot, __ATOMIC_RELAXED) == from &&
	       __atomic_compare_exchange_n(slot, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static struct memory_bits read_bits(const struct memory_bits *filter)
{
	return (struct memory_bits){.bits = __atomic_load_n(&filter->bits, __ATOMIC_ACQUIRE),
				    .version = __atomic_load_n(&filter->version, __ATOMIC_ACQUIRE)};
}

static bool replace_bits(struct memory_bits *filter, struct memory_bits from, struct memory_bits to)
{
	bool is_done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(is_done), "+m"(*filter), "+a"(from.bits), "+d"(from.version)
			 : "b"(to.bits), "c"(to.version)
			 : "memory");
	return is_done;
}

static void set_bit(struct memory_bits *filter, uint64_t bit)
{
	struct memory_bits from;

	do
		from = read_bits(filter);
	while (!replace_bits(filter, from,
			     (struct memory_bits){from.bits | bit, from.version + 1}));
}

/* The bits of what is in the slots. */
static void set_bits(struct memory_bits *filter, const uint64_t *slots)
{
	struct memory_bits from, to;

	do {
		from = read_bits(filter);
		to = (struct memory_bits){0, from.version};
		for (unsigned int i = 0; i < SLOTS_A_BUCKET; i++) {
			uint64_t word = __atomic_load_n(&slots[i], __ATOMIC_SEQ_CST);

			if (word != EMPTY)
				to.bits |= bit_of(word);
		}
	} while (!replace_bits(filter, from, to));
}

static bool has(const struct memory_table *table, uint64_t address)
{
	const uint64_t *slots = slots_of(table, address);

	for (unsigned int i = 0; i < SLOTS_A_BUCKET; i++)
		if (__atomic_load_n(&slots[i], __ATOMIC_SEQ_CST) == address)
			return true;
	return false;
}

static void set_bit_of(struct memory_table *table, uint64_t address)
{
	set_bit(&table->filter[bucket_of(table, address)], bit_of(address));
}

/* False: the bucket is full. */
static bool put(struct memory_table *table, uint64_t address)
{
	uint64_t *slots = slots_of(table, address);

	/*
	 * A thread that copies may have put it there, and has had no time for its bit; or its end
	 * was not seen, as a function gave it back that the library does not know.
	 */
	if (has(table, address)) {
		set_bit_of(table, address);
		return true;
	}
	for (unsigned int i = 0; i < SLOTS_A_BUCKET; i++)
		if (replace(&slots[i], EMPTY, address)) {
			set_bit_of(table, address);
			__atomic_fetch_add(&table->held, 1, __ATOMIC_RELAXED);
			return true;
		}
	return false;
}

/* Returns whether it was there; twice, if two threads have put it there at the same moment. */
static bool remove_address(struct memory_table *table, uint64_t address)
{
	uint64_t *slots = slots_of(table, address);
	uint64_t taken = 0;

	for (unsigned int i = 0; i < SLOTS_A_BUCKET; i++)
		taken += replace(&slots[i], address, EMPTY);
	if (!taken)
		return false;
	set_bits(&table->filter[bucket_of(table, address)], slots);
	__atomic_fetch_sub(&table->held, taken, __ATOMIC_RELAXED);
	return true;
}

/* Of the word that says which table is larger: */
#define HAS_ALL	  1 /* all is in it; it stays the one */
#define TOO_SMALL 2 /* it has no room for all, and is the largest */
#define FINAL	  3

static struct memory_table *table_of(uintptr_t word)
{
	return (struct memory_table *)(word & ~(uintptr_t)FINAL);
}

static uintptr_t larger_word(const struct memory_table *table)
{
	return __atomic_load_n(&table->larger, __ATOMIC_SEQ_CST);
}

static bool replace_larger(struct memory_table *table, uintptr_t from, uintptr_t to)
{
	return __atomic_compare_exchange_n(&table->larger, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static struct memory_table *larger_than(const struct memory_table *table)
{
	uintptr_t word = larger_word(table);

	return word & TOO_SMALL ? NULL : table_of(word);
}

/* False: there is no room for one, or the word is another one now. */
static bool copy(const struct memory_table *table, uintptr_t larger)
{
	for (uint64_t i = 0; i < (table->mask + 1) * SLOTS_A_BUCKET; i++) {
		uint64_t address = __atomic_load_n(&table->slots[i], __ATOMIC_SEQ_CST);

		if (address != EMPTY &&
		    (larger_word(table) != larger || !put(table_of(larger), address)))
			return false;
	}
	return true;
}

/* Makes one that is larger than the one that is too small. False: another thread has, or none can. */
static bool make_larger(struct memory_table *table, uintptr_t too_small)
{
	uint64_t buckets = ((too_small ? table_of(too_small) : table)->mask + 1) * GROWTH;
	uint64_t bytes_before = sizeof(*table) + buckets * sizeof(table->filter[0]);
	uint64_t bytes = bytes_before + 64 + buckets * SLOTS_A_BUCKET * sizeof(uint64_t);
	struct memory_table *larger;
	long got;

	if (buckets > MOST_BUCKETS || larger_word(table) != too_small)
		return false;
	got = system_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (system_call_failed(got))
		return false;
	larger = (struct memory_table *)got;
	larger->words_mask = 2 * (buckets - 1);
	larger->mask = buckets - 1;
	larger->slots = (uint64_t *)(((uint64_t)got + bytes_before + 63) & ~63ull);
	if (replace_larger(table, too_small, (uintptr_t)larger))
		return true;
	system_call(SYS_munmap, got, (long)bytes, 0, 0, 0);
	return false;
}

/* A larger table takes the place, if one has room for all. */
static void replace_by_larger(struct memory_table *table)
{
	uintptr_t larger;

	while ((larger = larger_word(table)) && !(larger & FINAL))
		if (copy(table, larger))
			replace_larger(table, larger, larger | HAS_ALL);
		else if (!make_larger(table, larger))
			replace_larger(table, larger, larger | TOO_SMALL);
	if (larger & HAS_ALL)
		__atomic_compare_exchange_n(&memory_table, &table, table_of(larger), false,
					    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* False: there is no room in all those that have the place, or are to take it. */
static bool add(struct memory_table *table, uint64_t address)
{
	for (; table; table = larger_than(table))
		if (!put(table, address))
			return false;
	return true;
}

bool memory_table_add(uint64_t address)
{
	struct memory_table *table = NULL;

	/* as often as there is another one, which is larger */
	while (table != __atomic_load_n(&memory_table, __ATOMIC_ACQUIRE)) {
		table = __atomic_load_n(&memory_table, __ATOMIC_ACQUIRE);
		if (table == &all.table)
			return true;
		/* a bucket has one, on average; at most */
		if (__atomic_load_n(&table->held, __ATOMIC_RELAXED) > table->mask &&
		    make_larger(table, 0))
			replace_by_larger(table);
		if (add(table, address))
			return true;
		make_larger(table, 0);
		replace_by_larger(table);
	}
	memory_table_remove(address);
	return false;
}

bool memory_table_remove(uint64_t address)
{
	struct memory_table *table = __atomic_load_n(&memory_table, __ATOMIC_ACQUIRE);
	bool was_there = false;

	if (address == EMPTY || table == &all.table)
		return false;
	for (; table; table = larger_than(table))
		was_there |= remove_address(table, address);
	return was_there;
}

void memory_table_all(void)
{
	__atomic_store_n(&memory_table, &all.table, __ATOMIC_RELEASE);
}
