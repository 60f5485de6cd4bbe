// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * mem-grow and file-faults: where processes get more memory. A perf event on each CPU counts page
 * faults, after the kernel has served them, and asks with every N-th of them whose it was.
 */
#include "bpf/capture/event.h"
#include "bpf/filter.h"
#include "bpf/memory/grow_abi.h"
#include "bpf/memory/page_table.h"

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

/* How often the mappings of a process were locked for a change: since Linux 6.13, */
struct seqcount___mem_grow {
	unsigned int sequence;
};

struct mm_struct___counter {
	struct seqcount___mem_grow mm_lock_seq;
};

/* and before. */
struct mm_struct___number {
	int mm_lock_seq;
};

#pragma clang attribute pop

/* A mapping, as far as it matters what a fault in it brings. */
struct mapping {
	__u64 start, end;
	__u64 flags;
	__u64 block; /* bytes of a block of its file's file system */
	bool is_of_file, is_in_memory;
};

struct looking {
	struct mapping *mapping; /* to be filled in */
};

static long look_at(struct task_struct *task, struct vm_area_struct *area, void *context)
{
	struct mapping *mapping = ((struct looking *)context)->mapping;
	struct super_block___mem_grow *disk;

	mapping->start = area->vm_start;
	mapping->end = area->vm_end;
	mapping->flags = area->vm_flags;
	if (!area->vm_file)
		return 0;
	disk = (void *)BPF_CORE_READ(area, vm_file, f_inode, i_sb);
	mapping->is_of_file = true;
	mapping->is_in_memory = BPF_CORE_READ(disk, s_magic) == TMPFS_MAGIC;
	mapping->block = BPF_CORE_READ(disk, s_blocksize);
	return 0;
}

/*
 * The mapping of the last fault on a CPU. To look one up takes a lock, which costs more than all
 * the rest, and most faults are where the one before was. The process's number of changes to its
 * mappings tells whether they still are what they were.
 */
struct mem_grow_last {
	__u64 mm;
	__u32 changes;
	struct mapping mapping;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mem_grow_last);
} mem_grow_last SEC(".maps");

/* False: this kernel does not count them (before Linux 6.4). */
static __always_inline bool count_changes(struct task_struct *task, __u32 *changes)
{
	struct mm_struct___counter *counter = (void *)task->mm;
	struct mm_struct___number *number = (void *)task->mm;

	if (bpf_core_field_exists(counter->mm_lock_seq.sequence))
		*changes = BPF_CORE_READ(counter, mm_lock_seq.sequence);
	else if (bpf_core_field_exists(number->mm_lock_seq))
		*changes = BPF_CORE_READ(number, mm_lock_seq);
	else
		return false;
	return true;
}

/* The mapping at an address; null: it could not be looked up. */
static __always_inline struct mapping *mapping_at(struct task_struct *task, __u64 address)
{
	__u32 zero = 0, changes = 0;
	struct mem_grow_last *last = bpf_map_lookup_elem(&mem_grow_last, &zero);
	bool counted = count_changes(task, &changes);
	struct looking looking;

	if (!last)
		return NULL;
	if (counted && last->mm == (__u64)task->mm && last->changes == changes &&
	    address >= last->mapping.start && address < last->mapping.end)
		return &last->mapping;
	last->mm = 0;
	__builtin_memset(&last->mapping, 0, sizeof(last->mapping));
	looking.mapping = &last->mapping;
	if (bpf_find_vma(task, address, look_at, &looking, 0))
		return NULL;
	last->mm = (__u64)task->mm;
	last->changes = changes;
	return &last->mapping;
}

/* It has room for a huge page there, and may have one. */
static __always_inline bool may_be_huge(const struct mapping *mapping, __u64 address)
{
	__u64 begin = address & -HUGE_BYTES;

	if (mem_grow_huge == MEM_GROW_HUGE_NEVER || mapping->flags & VM_NOHUGEPAGE)
		return false;
	if (mem_grow_huge == MEM_GROW_HUGE_IF_ASKED && !(mapping->flags & VM_HUGEPAGE))
		return false;
	return begin >= mapping->start && begin + HUGE_BYTES <= mapping->end;
}

/*
 * What memory that is of no file, or is a process's own copy, is worth; 0: nothing, as reading what
 * was never written shows a page of zeros that all share.
 */
static __always_inline __u64 bytes_of_anonymous(const struct mapping *mapping, __u64 address,
						__u64 entry, __u64 bytes)
{
	if (!entry) {
		if (may_be_huge(mapping, address))
			capture_count_loss(CAPTURE_SOURCE_MEM_GROW, CAPTURE_LOSS_PAGE_SIZE);
		return PAGE_BYTES;
	}
	return entry & PAGE_WRITABLE ? bytes : 0;
}

/* A private page of a file is the process's own once it was written to. */
static __always_inline bool is_page_of_file(const struct mapping *mapping, __u64 entry)
{
	return mapping->is_of_file && (mapping->flags & VM_SHARED || !(mapping->flags & VM_WRITE) ||
				       (entry && !(entry & PAGE_WRITABLE)));
}

/* Tells what the fault has brought, and what one of its kind is worth; 0: nothing. */
static __always_inline __u64 worth(struct task_struct *task, __u64 address,
				   enum mem_grow_kind *kind)
{
	const struct mapping *mapping = mapping_at(task, address);
	__u64 bytes = PAGE_BYTES, entry = 0;

	*kind = MEM_GROW_UNKNOWN;
	if (!mapping)
		return PAGE_BYTES;
	if (mem_grow_direct)
		entry = page_entry(mem_grow_direct, page_tables(task), address, &bytes);
	if (mapping->flags & VM_HUGETLB) {
		*kind = MEM_GROW_HUGETLB;
		return mapping->block;
	}
	if (mapping->is_in_memory && mapping->flags & VM_SHARED) {
		*kind = MEM_GROW_SHARED;
		return entry ? bytes : PAGE_BYTES;
	}
	if (is_page_of_file(mapping, entry)) {
		*kind = MEM_GROW_FILE;
		return 1;
	}
	bytes = bytes_of_anonymous(mapping, address, entry, bytes);
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
	scratch = capture_begin(CAPTURE_SOURCE_MEM_GROW, CAPTURE_WALKER_FAULT);
	if (!scratch)
		return 0;
	capture_identity(&scratch->record, MEM_GROW_FAULT, task, period * each);
	scratch->record.identity.undecided = answer == FILTER_ASK;
	scratch->record.identity.key = kind;
	event_user_stack(ctx, scratch, task);
	capture_walk(ctx, scratch, &walk_fault, event_kernel_frames(ctx), 0, 0);
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
