// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mem-grow and file-faults: where processes get more memory. A perf event on each CPU counts page
 * faults, after the kernel has served them, and asks with every N-th of them whose it was.
 */
#include "capture_event.h"
#include "filter.h"
#include "mem_grow_abi.h"
#include "page_table.h"

/* Set before loading: enum mem_grow_huge. */
const volatile __u32 mem_grow_huge;

/* Where the direct map of the kernel begins; 0: not known. mem_grow_find() sets it. */
__u64 mem_grow_direct;

#define PAGE_BYTES 4096
#define HUGE_BYTES (2ull << 20)

/* linux/mm.h */
#define VM_WRITE      0x00000002
#define VM_SHARED     0x00000008
#define VM_HUGETLB    0x00400000
#define VM_HUGEPAGE   0x20000000
#define VM_NOHUGEPAGE 0x40000000

/* linux/magic.h */
#define TMPFS_MAGIC 0x01021994

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block___mem_grow {
	unsigned long s_magic, s_blocksize;
};

#pragma clang attribute pop

/* A fault, by the mapping that it was in. */
struct fault {
	__u64 address;
	__u64 flags; /* of the mapping */
	__u64 block; /* bytes of a block of its file */
	bool is_of_file, is_in_memory;
	bool may_be_huge; /* the mapping has room for a huge page there, and may have one */
};

static __always_inline bool has_room(const struct vm_area_struct *area, __u64 address)
{
	__u64 begin = address & -HUGE_BYTES;

	return begin >= area->vm_start && begin + HUGE_BYTES <= area->vm_end;
}

static long look_at(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	struct fault *fault = context;
	struct super_block___mem_grow *disk;

	fault->flags = area->vm_flags;
	if (area->vm_file) {
		disk = (void *)BPF_CORE_READ(area, vm_file, f_inode, i_sb);
		fault->is_of_file = true;
		fault->is_in_memory = BPF_CORE_READ(disk, s_magic) == TMPFS_MAGIC;
		fault->block = BPF_CORE_READ(disk, s_blocksize);
	}
	if (mem_grow_huge != MEM_GROW_HUGE_NEVER && !(fault->flags & VM_NOHUGEPAGE) &&
	    (mem_grow_huge == MEM_GROW_HUGE_ALWAYS || fault->flags & VM_HUGEPAGE))
		fault->may_be_huge = has_room(area, fault->address);
	return 0;
}

/*
 * What memory that is of no file, or is a process's own copy, is worth; 0: nothing, as reading what
 * was never written shows a page of zeros that all share.
 */
static __always_inline __u64 bytes_of_anonymous(const struct fault *fault, __u64 entry, __u64 bytes)
{
	if (!entry) {
		if (fault->may_be_huge)
			capture_count_loss(CAPTURE_SOURCE_MEM_GROW, CAPTURE_LOSS_PAGE_SIZE);
		return PAGE_BYTES;
	}
	return entry & PAGE_WRITABLE ? bytes : 0;
}

/* Tells what the fault has brought, and what one of its kind is worth; 0: nothing. */
static __always_inline __u64 worth(struct task_struct *task, __u64 address,
				   enum mem_grow_kind *kind)
{
	struct fault fault = {.address = address};
	__u64 bytes = PAGE_BYTES, entry = 0;

	if (bpf_find_vma(task, address, look_at, &fault, 0)) {
		*kind = MEM_GROW_UNKNOWN;
		return PAGE_BYTES;
	}
	if (mem_grow_direct)
		entry = page_entry(mem_grow_direct, page_tables(task), address, &bytes);
	if (fault.flags & VM_HUGETLB) {
		*kind = MEM_GROW_HUGETLB;
		return fault.block;
	}
	if (fault.is_of_file && fault.flags & VM_SHARED && fault.is_in_memory) {
		*kind = MEM_GROW_SHARED;
		return entry ? bytes : PAGE_BYTES;
	}
	/* a private page of a file is the process's own once it was written to */
	if (fault.is_of_file && (fault.flags & VM_SHARED || !(fault.flags & VM_WRITE) ||
				 (entry && !(entry & PAGE_WRITABLE)))) {
		*kind = MEM_GROW_FILE;
		return 1;
	}
	bytes = bytes_of_anonymous(&fault, entry, bytes);
	*kind = bytes > PAGE_BYTES ? MEM_GROW_HUGE : MEM_GROW_ANONYMOUS;
	return bytes;
}

SEC("perf_event")
int mem_grow(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	enum mem_grow_kind kind = MEM_GROW_UNKNOWN;
	struct capture_scratch *scratch;
	enum filter_answer answer = filter_current();
	__u64 each, period = ctx->sample_period;

	if (answer == FILTER_NO || !task->mm)
		return 0;
	each = worth(task, ctx->addr, &kind);
	if (!each)
		return 0;
	scratch = capture_begin(CAPTURE_SOURCE_MEM_GROW);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, MEM_GROW_FAULT, task, period * each);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = kind;
	capture_event_stack(ctx, scratch, task);
	capture_send(scratch);
	capture_end(scratch);
	return 0;
}

/* Run once, by user space. */
SEC("syscall")
int mem_grow_find(void *ctx)
{
	mem_grow_direct = page_direct_find(bpf_get_current_task_btf());
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
