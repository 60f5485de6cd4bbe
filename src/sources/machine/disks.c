// SPDX-License-Identifier: Apache-2.0
#include "sources/machine/disks.h"

/* Threads that use disks between two readings: more of them are not told apart. */
#define ROWS_MAX 4096

static struct film_gauge *row_of(struct machine_disks *disks, uint32_t disk, uint32_t thread,
				 bool is_write)
{
	uint64_t key = hash_u64((uint64_t)disk << 32 | thread) ^ (is_write ? 1 : 0);
	const uint64_t *known = map_get(&disks->known, key);
	struct film_gauge row = {
		.object = disk,
		.thread = thread,
		.kind = is_write ? FILM_GAUGE_DISK_WRITE_BY : FILM_GAUGE_DISK_READ_BY,
	};

	if (known)
		return &disks->rows.at[*known];
	if (disks->rows.count >= ROWS_MAX || !vec_push(&disks->rows, row))
		return NULL;
	if (map_put(&disks->known, key, disks->rows.count - 1))
		return vec_last(&disks->rows);
	disks->rows.count--;
	return NULL;
}

void machine_disks_add(struct machine_disks *disks, uint32_t disk, uint32_t thread, bool is_write,
		       uint64_t bytes, uint64_t took)
{
	struct film_gauge *row = row_of(disks, disk, thread, is_write);

	if (!row) {
		disks->refused++;
		return;
	}
	row->value += bytes;
	row->count++;
	row->time += took;
	row->longest = took > row->longest ? took : row->longest;
}

void machine_disks_write(struct machine_disks *disks, uint64_t from, uint64_t to,
			 void (*write)(void *context, const struct film_gauge *row), void *context)
{
	vec_foreach (&disks->rows, row) {
		row->end = to;
		row->duration = to - from;
		write(context, row);
	}
	disks->rows.count = 0;
	map_free(&disks->known);
}

void machine_disks_free(struct machine_disks *disks)
{
	vec_free(&disks->rows);
	map_free(&disks->known);
}
