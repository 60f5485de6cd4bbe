// SPDX-License-Identifier: Apache-2.0
#include "resolve/kernel_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "bpf/kernel_names_abi.h"
#include "bpf/probes.skel.h"

#define TABLE_BYTES (KERNEL_NAMES_MAX * sizeof(struct kernel_name))

/* What %ps prints for an address that lies in no symbol: the address itself. */
static bool is_name(const struct kernel_name *entry)
{
	return entry->length > 1 && entry->length <= (int)sizeof(entry->name) &&
	       memcmp(entry->name, "0x", 2) != 0;
}

static int ask(int program, uint32_t count)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &count, .ctx_size_in = sizeof(count));

	return bpf_prog_test_run_opts(program, &run) ? -errno : 0;
}

int kernel_names_ask(struct kernel_names *names, const uint64_t *addresses, size_t count,
		     symbol_found *found, void *context)
{
	int program = bpf_program__fd(names->probes->progs.name_kernel_addresses), err = 0;
	struct kernel_name *table;
	size_t done, i, n;

	if (!names->table) {
		table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(names->probes->maps.kernel_names), 0);
		if (table == MAP_FAILED)
			return -errno;
		names->table = table;
	}
	table = names->table;
	for (done = 0; done < count && !err; done += n) {
		n = count - done < KERNEL_NAMES_MAX ? count - done : KERNEL_NAMES_MAX;
		for (i = 0; i < n; i++)
			table[i].address = addresses[done + i];
		err = ask(program, (uint32_t)n);
		for (i = 0; i < n && !err; i++) {
			struct symbol_name name = {.function = table[i].name};

			if (is_name(&table[i]))
				found(context, done + i, &name, 1);
		}
	}
	return err;
}

void kernel_names_free(struct kernel_names *names)
{
	if (names->table)
		munmap(names->table, TABLE_BYTES);
	names->table = NULL;
}
