/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_MEMORY_GROW_ABI_H
#define BPF_MEMORY_GROW_ABI_H

/* What memory/grow.bpf.c tells of page faults. */

#include "bpf/capture/abi.h"

enum {
	/*
	 * A capture_record: its key is an enum mem_grow_kind, its value the bytes of all faults
	 * that it stands for; of MEM_GROW_FILE how many those are.
	 */
	MEM_GROW_FAULT = CAPTURE_KIND(CAPTURE_SOURCE_MEM_GROW, 0),
};

/* What a fault has put into the process. */
enum mem_grow_kind {
	MEM_GROW_ANONYMOUS,
	MEM_GROW_HUGE,	  /* anonymous memory, by a huge page */
	MEM_GROW_SHARED,  /* shared memory, and files in memory (shmem, tmpfs) */
	MEM_GROW_HUGETLB, /* a page of a pool (hugetlbfs) */
	MEM_GROW_FILE,	  /* a page of a file, from the page cache or from the disk */
	MEM_GROW_UNKNOWN, /* its mapping could not be looked at */
};

/* Which mappings have huge pages (/sys/kernel/mm/transparent_hugepage/enabled). */
enum mem_grow_huge {
	MEM_GROW_HUGE_NEVER,
	MEM_GROW_HUGE_IF_ASKED, /* those for which the program asked (madvise(2)) */
	MEM_GROW_HUGE_ALWAYS,
};

#endif
