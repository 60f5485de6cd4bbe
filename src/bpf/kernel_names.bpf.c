// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Names of kernel addresses, from the kernel itself: the format %ps looks an address up in a sorted
 * table, while a reader of /proc/kallsyms makes the kernel unpack and print all of its 200,000
 * symbols.
 */
#include "bpf/kernel.h"
#include "bpf/kernel_names_abi.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, KERNEL_NAMES_MAX);
	__type(key, __u32);
	__type(value, struct kernel_name);
} kernel_names SEC(".maps");

static long name_one(__u32 i, void *context)
{
	static const char format[] = "%ps";
	struct kernel_name *entry = bpf_map_lookup_elem(&kernel_names, &i);
	__u64 address;

	if (!entry)
		return 1;
	address = entry->address;
	entry->length =
		bpf_snprintf(entry->name, sizeof(entry->name), format, &address, sizeof(address));
	return 0;
}

struct kernel_names_count {
	__u32 count;
};

SEC("syscall")
int name_kernel_addresses(struct kernel_names_count *wanted)
{
	bpf_loop(wanted->count, name_one, NULL, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
