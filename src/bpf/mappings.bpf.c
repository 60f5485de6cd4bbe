// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * A process that maps something where its tables show code (dlclose, then dlopen) must not be
 * unwound by them any more. User space hears of the new mapping too, but later, and only by then
 * can it know what to show instead. (Memory for code that a runtime makes comes and goes all the
 * time: that does not put the rest in doubt.) The kernel says where a mapping will lie before it is
 * made: include/trace/events/mmap.h.
 */
#include "bpf/capture/walk.h"

struct vm_unmapped_area_info {
	unsigned long length;
} __attribute__((preserve_access_index));

SEC("raw_tp/vm_unmapped_area")
int mapping_placed(struct bpf_raw_tracepoint_args *ctx)
{
	struct vm_unmapped_area_info *info = (void *)ctx->args[1];
	__u64 start = ctx->args[0], length = BPF_CORE_READ(info, length);
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	const struct unwind_mapping *mapping;
	struct space_value *value;

	value = bpf_map_lookup_elem(&unwind_spaces, &pid);
	/* an error stands where the address should */
	if (!value || !length || start & 4095)
		return 0;
	mapping = unwind_mapping_before(NULL, value->space.mappings, value->space.count,
					start + length - 1);
	if (!mapping || mapping->end <= start)
		return 0;
	/*
	 * what was there is most likely gone, and what comes the same again; else user space cuts
	 * the stack
	 */
	if (mapping->start <= start && mapping->runtime && mapping->kind == UNWIND_MAPPING_NO_TABLE)
		value->doubted = 1;
	else
		value->outdated = 1;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
