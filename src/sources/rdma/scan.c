// SPDX-License-Identifier: Apache-2.0
#include "sources/rdma/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/vec.h"
#include "process/procfs.h"
#include "process/resident.h"

#define MAPS_BYTES_MAX (16 * 1024 * 1024)
#define PIECE	       (1u << 20)
#define CONTEXTS_MAX   256

/* The most bytes behind a word that are looked at: those of a queue pair's functions. */
#define BEHIND (VERBS_PAIR_FUNCTIONS + 8 * VERBS_WR_FUNCTIONS)

struct scan {
	pid_t pid;
	bool (*found)(void *context, const struct rdma_table *table);
	void *context;
	struct resident memory;
	uint64_t left; /* bytes that may be read */
	bool is_whole;
	uint64_t contexts[CONTEXTS_MAX]; /* their addresses */
	size_t context_count;
	uint8_t *piece;
	/* Looks at a word of what was read, and says how it goes on. */
	void (*look)(struct scan *scan, const uint8_t *at, uint64_t address);
};

static uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* A context ends with a word of which all bits are set, as no pointer is. */
static void look_for_context(struct scan *scan, const uint8_t *at, uint64_t address)
{
	struct rdma_table table = {.pid = (uint32_t)scan->pid};

	if (word(at + VERBS_CONTEXT_ABI) != ~0ull || scan->context_count == CONTEXTS_MAX)
		return;
	table.functions[RDMA_TABLE_POLL] = word(at + VERBS_OPS_POLL);
	table.functions[RDMA_TABLE_POST_SHARED] = word(at + VERBS_OPS_POST_SHARED);
	table.functions[RDMA_TABLE_POST_SEND] = word(at + VERBS_OPS_POST_SEND);
	table.functions[RDMA_TABLE_POST_RECEIVE] = word(at + VERBS_OPS_POST_RECEIVE);
	if (table.functions[RDMA_TABLE_POST_SEND] && scan->found(scan->context, &table))
		scan->contexts[scan->context_count++] = address;
}

/* A queue pair begins with its context's address. */
static void look_for_pair(struct scan *scan, const uint8_t *at, uint64_t address)
{
	struct rdma_table table = {.pid = (uint32_t)scan->pid, .is_pair = 1};
	const uint64_t context = word(at);

	(void)address;
	for (size_t i = 0; context && i < scan->context_count; i++) {
		if (scan->contexts[i] != context)
			continue;
		memcpy(table.functions, at + VERBS_PAIR_FUNCTIONS, sizeof(table.functions));
		scan->found(scan->context, &table);
	}
}

/* What begins in a piece may go on in the next one. */
static void scan_piece(struct scan *scan, uint64_t start, size_t size)
{
	size_t there = resident_piece(&scan->memory, scan->piece, size, start);

	scan->left -= there < scan->left ? there : scan->left;
	for (size_t i = 0; i < PIECE && i + BEHIND <= size; i += sizeof(uint64_t))
		scan->look(scan, scan->piece + i, start + i);
}

static void scan_range(struct scan *scan, uint64_t start, uint64_t end)
{
	/* a sanitizer's shadow of all memory: looking through it would leave no look for others */
	if ((end - start) / RESIDENT_PAGE > RDMA_SCAN_LOOKS) {
		scan->is_whole = false;
		return;
	}
	resident_forget(&scan->memory, end);
	for (; start < end && scan->left && !scan->memory.is_spent; start += PIECE) {
		uint64_t next = end - start < PIECE ? end : start + PIECE;

		if (resident_bytes(&scan->memory, start, next))
			scan_piece(scan, start, end - next < BEHIND ? end - start : PIECE + BEHIND);
	}
	scan->is_whole &= start >= end && !scan->memory.is_spent;
}

/* Its own memory: what it allocates, and not what it shares or a device has. */
static bool is_own(const struct procfs_mapping *mapping)
{
	return mapping->readable && mapping->writable && !mapping->shared && !mapping->inode &&
	       strncmp(mapping->path, "[v", 2) != 0;
}

static void scan_all(struct scan *scan, const struct buf *maps)
{
	const char *line = (const char *)maps->at;

	scan->left = RDMA_SCAN_MAX;
	resident_allow(&scan->memory, RDMA_SCAN_LOOKS, UINT64_MAX);
	while (*line) {
		const char *end = strchrnul(line, '\n');
		struct procfs_mapping mapping;
		char *copy = strndup(line, (size_t)(end - line));

		if (copy && procfs_parse_mapping(copy, &mapping) && is_own(&mapping))
			scan_range(scan, mapping.start, mapping.end);
		free(copy);
		line = *end ? end + 1 : end;
	}
}

bool rdma_scan(pid_t pid, bool (*found)(void *context, const struct rdma_table *table),
	       void *context)
{
	struct scan scan = {.pid = pid, .found = found, .context = context};
	struct buf maps = {0};

	scan.piece = malloc(PIECE + BEHIND);
	scan.is_whole = scan.piece && !procfs_read(pid, "maps", MAPS_BYTES_MAX, &maps) &&
			!resident_open(&scan.memory, pid);
	if (scan.is_whole) {
		scan.look = look_for_context;
		scan_all(&scan, &maps);
		scan.look = look_for_pair;
		if (scan.context_count)
			scan_all(&scan, &maps);
		resident_close(&scan.memory);
	}
	buf_free(&maps);
	free(scan.piece);
	return scan.is_whole;
}
