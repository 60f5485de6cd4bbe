/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_MEMORY_PAGE_TABLE_H
#define BPF_MEMORY_PAGE_TABLE_H

/*
 * The page that stands at a user address, read from the page tables of the current process (x86-64:
 * Intel SDM volume 3, chapter 5, "Paging"). Tables name each other by physical address. The kernel
 * maps all memory in one piece, the direct map, so what is read is the physical address plus where
 * that piece begins, which is chosen anew at each boot and is not published.
 */

#include "bpf/kernel.h"

#define PAGE_PRESENT  1ull
#define PAGE_WRITABLE 2ull
#define PAGE_IS_LAST  (1ull << 7) /* in a table of the second or third level: no table follows */
#define PAGE_ADDRESS  0x000ffffffffff000ull

#define PAGE_LEVELS   5

/* With tables of five levels, the kernel's half is larger. */
#define PAGE_HALF_OF_FOUR 0xffff800000000000ull

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct___page {
	__u64 *pgd; /* its table of the highest level */
};

#pragma clang attribute pop

/*
 * The entry for an address, and the bytes that it maps; 0: there is none, or it could not be read.
 * direct: where the direct map begins.
 */
static __always_inline __u64 page_entry(__u64 direct, __u64 table, __u64 address, __u64 *bytes)
{
	__u32 shift = table < PAGE_HALF_OF_FOUR ? 48 : 39, i;
	__u64 entry;

	for (i = 0; i < PAGE_LEVELS; i++) {
		if (bpf_probe_read_kernel(&entry, sizeof(entry),
					  (void *)(table + (address >> shift & 511) * 8)))
			return 0;
		if (!(entry & PAGE_PRESENT))
			return 0;
		if (shift == 12 || (shift <= 30 && entry & PAGE_IS_LAST)) {
			*bytes = 1ull << shift;
			return entry;
		}
		table = direct + (entry & PAGE_ADDRESS);
		shift -= 9;
	}
	return 0;
}

/* The table of the highest level of the current process; 0: it has none. */
static __always_inline __u64 page_tables(struct task_struct *task)
{
	struct mm_struct___page *mm = (void *)task->mm;

	/* read as a number, with which the verifier lets us calculate */
	return mm ? (__u64)BPF_CORE_READ(mm, pgd) : 0;
}

/* -- where the direct map begins --------------------------------------------------------------- */

/* It begins at a border of 1 GiB (arch/x86/mm/kaslr.c). */
#define DIRECT_STEP (1ull << 30)

/* Memory beyond this many of them is not looked at. */
#define DIRECT_STEPS 8192

struct page_direct {
	__u64 tables; /* of the current process */
	__u64 begin;  /* 0: not found yet */
};

/*
 * Tries one place. The tables of a process also map the kernel's half, and they lie in the direct
 * map themselves: if it begins there, then they say of their own address that it is as far from
 * their physical one.
 */
static long page_direct_try(__u32 i, void *context)
{
	struct page_direct *found = context;
	__u64 direct = (found->tables & -DIRECT_STEP) - i * DIRECT_STEP, bytes = 0, entry;

	entry = page_entry(direct, found->tables, found->tables, &bytes);
	if (!entry)
		return 0;
	entry = (entry & PAGE_ADDRESS & -bytes) + (found->tables & (bytes - 1));
	if (found->tables - entry != direct)
		return 0;
	found->begin = direct;
	return 1;
}

static __always_inline __u64 page_direct_find(struct task_struct *task)
{
	struct page_direct found = {.tables = page_tables(task)};

	if (found.tables)
		bpf_loop(DIRECT_STEPS, page_direct_try, &found, 0);
	return found.begin;
}

#endif
