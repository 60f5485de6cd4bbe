/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_OTEL_OTEL_H
#define BPF_RUNTIME_OTEL_OTEL_H

/*
 * What a program publishes of the current thread (OTEP 4947): a pointer in thread-local storage
 * leads to a record, which is valid if it says so. The thread is interrupted, so it does not change
 * the record meanwhile. It belongs to the sample, not to a frame: a walk begins with it, and the
 * sample's record has the key under which its content is kept.
 *
 * The target's memory may hold anything. There are four reads, of bounded size.
 */
#include "bpf/capture/tls.h"
#include "bpf/runtime/kept.h"
#include "bpf/runtime/otel/abi.h"

/* Labels of single requests, by their trace and span; set before loading. */
const volatile bool otel_wants_ids __weak;

_Static_assert(OTEL_ATTRIBUTES_MAX == (CAPTURE_WINDOW_WORDS + CAPTURE_READ_WORDS) * 8,
	       "they are read into the window");
_Static_assert(sizeof(struct otel_kept) <= UNWIND_KEPT_BYTES, "room for a record");

static __always_inline __u64 otel_mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

/* A process's block of data, by its reference; null: there is none. */
static __always_inline const struct otel_data *otel_data_of(struct capture_scratch *s,
							    __u32 reference)
{
	__u32 word = reference & (UNWIND_CHUNK_WORDS - 1), zero = 0, n;
	const __u32 *chunk;
	void *inner;

	n = reference >> UNWIND_CHUNK_SHIFT;
	inner = bpf_map_lookup_elem(&unwind_chunks, &n);
	chunk = inner ? bpf_map_lookup_elem(inner, &zero) : NULL;
	if (!chunk || word > UNWIND_CHUNK_WORDS - UNWIND_DATA_WORDS)
		return NULL;
	return (const void *)(chunk + word);
}

/* Reads the attributes into the window, zeros behind them. False: they are not in memory. */
static __always_inline bool otel_read_attributes(struct capture_scratch *s, __u64 from, __u32 size)
{
	s->window_start = ~0ull;
	__builtin_memset(s->window, 0, sizeof(s->window));
	OPAQUE(size);
	if (size > OTEL_ATTRIBUTES_MAX)
		size = OTEL_ATTRIBUTES_MAX;
	return !size || !bpf_probe_read_user(s->window, size, (void *)from);
}

static __always_inline __u64 otel_hash(const struct capture_scratch *s,
				       const struct otel_head *head)
{
	__u64 hash = head->size;
	__u32 i;

	for (i = 0; i < 3; i++)
		hash = otel_mix(hash, head->ids[i]);
	for (i = 0; i < OTEL_ATTRIBUTES_MAX / 8; i++)
		hash = otel_mix(hash, s->window[i]);
	return hash | 1;
}

static __always_inline void otel_keep(struct capture_scratch *s, const struct otel_head *head,
				      __u64 key)
{
	struct otel_kept *kept = unwind_keep(key);

	if (!kept)
		return;
	kept->head = *head;
	bpf_probe_read_kernel(kept->attributes, OTEL_ATTRIBUTES_MAX, s->window);
}

/*
 * Sets what the sample's record says of the thread. reference: to the process's block of data. Not
 * static: the verifier looks at it once.
 */
__weak __noinline int otel_thread(struct capture_scratch *s, __u32 reference)
{
	const struct otel_data *data = s ? otel_data_of(s, reference) : NULL;
	struct otel_head head = {};
	struct otel_record record;
	__u64 at, from;

	if (!data)
		return 0;
	at = tls_variable_at(&data->place);
	/* a thread that has never used its storage may not have it in memory */
	if (!at || bpf_probe_read_user(&from, sizeof(from), (void *)at) || !from)
		return 0;
	if (bpf_probe_read_user(&record, sizeof(record), (void *)from))
		goto unreadable;
	if (record.valid != 1)
		return 0;
	if (otel_wants_ids)
		__builtin_memcpy(head.ids, &record, sizeof(head.ids));
	head.size = record.size;
	if (!head.ids[0] && !head.ids[1] && !head.size)
		return 0;
	if (!otel_read_attributes(s, from + sizeof(record), record.size))
		goto unreadable;
	s->record.context = otel_hash(s, &head);
	otel_keep(s, &head, s->record.context);
	return 0;
unreadable:
	capture_count_loss(CAPTURE_KIND_SOURCE(s->record.head.kind), CAPTURE_LOSS_CONTEXT);
	return 0;
}

#endif
