/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_GO_MAP_H
#define PROBE_GO_MAP_H

#include "probe/values.h"

/*
 * How a map of Go lies in memory, by its DWARF. Until Go 1.23 (runtime/map.go), a header leads to
 * an array of buckets, each with 8 marks, keys and values. Since 1.24 (internal/runtime/maps), it
 * leads to one group of 8 slots, or to a directory of tables, each with an array of such groups.
 */
struct go_map {
	bool has_tables;    /* of Go 1.24 */
	uint64_t length_at; /* in the header: entries */
	/* in the header: the pointer to the buckets and the logarithm of their number; or the
	 * directory's and its length */
	uint64_t pointer_at, number_at;
	/* in a table: the pointer to its groups, and their number less one */
	uint64_t table_size, groups_at, mask_at;
	/* of a bucket, or of a group: marks are bytes */
	uint64_t size, marks_at, keys_at, values_at, key_step, value_step;
	uint32_t key, value;
};

#define GO_MAP_SLOTS 8u

/* False: it is not one that is known. */
bool go_map_of(const struct values *values, const struct value_type *map, struct go_map *to);

/* Is there an entry in a slot with this mark? */
bool go_map_is_full(const struct go_map *map, uint8_t mark);

#endif
