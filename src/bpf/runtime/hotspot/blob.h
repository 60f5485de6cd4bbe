/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_HOTSPOT_BLOB_H
#define BPF_RUNTIME_HOTSPOT_BLOB_H

/*
 * Which blob of HotSpot's code cache an address lies in, and what that says of itself; see
 * hotspot.h.
 */

#include "bpf/runtime/hotspot/frame.h"

/* Hops through the map of segments, of at most 254 segments each: blobs of up to 500 KiB. */
#define HOTSPOT_HOPS 16

struct hotspot_blob {
	__u64 at;	  /* where it lies */
	__u64 code, name; /* where its code begins; the address of its name */
	__u64 block_end; /* where its block ends; 0: that was not asked for, or the block is free */
	__u32 frame_size; /* bytes */
	__s32 complete;	  /* offset from which on the frame is set up */
	__u32 compile_id, original_pc;
	__u64 deopt, deopt_mh;
	__u32 level;
	__u8 is_nmethod, is_piece; /* is_piece: it is one function */
};

/*
 * A field of what was read of a blob, which begins `before` bytes behind the first of these words.
 */
static __always_inline __u64 hotspot_get(const __u32 *words, __u32 before,
					 struct hotspot_field field)
{
	__u32 word = (before + field.at) >> 2;
	__u64 value;

	if (word > UNWIND_PIECE_BYTES / 4 - 2)
		word = UNWIND_PIECE_BYTES / 4 - 2;
	value = words[word];
	if (field.size == 8)
		return value | (__u64)words[word + 1] << 32;
	value >>= (field.at & 3) * 8;
	if (field.size == 4)
		return value;
	return field.size == 2 ? value & 0xffff : field.size == 1 ? value & 0xff : 0;
}

/* A way back through the map of segments, to where a block begins. */
struct hotspot_way {
	const struct unwind_walk *walk;
	__u64 segmap, segment;
	int end; /* 0: there it begins; or why that is not known */
};

/*
 * For unwind_repeat(): goes as many segments back as the map says for this one. Mostly the block
 * begins there, and that is seen in the same read.
 */
static long hotspot_hop(__u32 i, void *context)
{
	struct hotspot_way *way = context;
	__u64 tags[2] = {}, segment = way->segment, at = way->segmap + segment;
	__u8 tag, there;

	(void)i;
	if (segment < 15 ? unwind_read_code(way->walk, (__u8 *)tags + 15, 1, at)
			 : unwind_read_code(way->walk, tags, sizeof(tags), at - 15)) {
		way->end = UNWIND_END_RUNTIME_MEMORY;
		return 1;
	}
	there = tag = tags[1] >> 56;
	if (segment < 15)
		;
	else if (tag < 8)
		there = tags[1] >> (56 - tag * 8);
	else if (tag < 16)
		there = tags[0] >> (120 - tag * 8);
	if (tag == 0xff || tag > segment)
		return 1;
	way->segment = segment - tag;
	if (there)
		return 0;
	way->end = 0;
	return 1;
}

/* Finds the heap that `at` lies in and the blob there. 0, or why not. */
UNWIND_APART int hotspot_find(const struct unwind_walk *w, const struct hotspot_data *d, __u64 at,
			      __u64 *blob)
{
	struct hotspot_way way = {.walk = w, .end = UNWIND_END_RUNTIME_CODE};
	__u32 n;

	if (!w || !d || !blob)
		return UNWIND_END_RUNTIME_STATE;
	for (n = 0; n < HOTSPOT_HEAPS_MAX; n++)
		if (at - d->heaps[n].start < d->heaps[n].end - d->heaps[n].start)
			break;
	if (n == HOTSPOT_HEAPS_MAX)
		return UNWIND_END_RUNTIME_CODE;
	way.segment = (at - d->heaps[n].start) >> (d->heaps[n].shift & 31);
	way.segmap = d->heaps[n].segmap;
	unwind_repeat(HOTSPOT_HOPS, hotspot_hop, &way);
	*blob = d->heaps[n].start + (way.segment << (d->heaps[n].shift & 31)) + d->heaps[n].header;
	return way.end;
}

/* Whether a blob's name says that it is an nmethod: there are two such names. */
static __always_inline int hotspot_names_nmethod(struct unwind_walk *w, __u64 name)
{
	__u64 *remembered = w->state[UNWIND_RUNTIME_HOTSPOT], text;

	if (name == *remembered)
		return 1;
	if (unwind_read_code(w, &text, sizeof(text), name))
		return 0;
	/* "nmethod", "native nmethod" */
	if (text != 0x00646f6874656d6eull && text != 0x6e2065766974616eull)
		return 0;
	*remembered = name;
	return 1;
}

/* Bytes of a block before its blob: the same in all heaps. */
static __always_inline __u32 hotspot_header(const struct hotspot_data *d)
{
	return d->heaps[0].header;
}

/*
 * Reads the blob at `at` into w->piece, and `before` bytes in front: the header of the block
 * that it lies in, or nothing.
 */
static __always_inline int hotspot_read_words(struct unwind_walk *w, const struct hotspot_data *d,
					      __u64 at, __u32 before)
{
	__u32 bytes = before + d->blob_bytes;

	w->piece_at = 0;
	return before & 3 || bytes > UNWIND_PIECE_BYTES ||
	       unwind_read_code(w, w->piece, bytes, at + d->blob_from - before);
}

/*
 * What was read of a blob, which begins `before` bytes behind the first of these words: is it an
 * nmethod?
 */
static __always_inline int hotspot_is_nmethod(struct unwind_walk *w, const struct hotspot_data *d,
					      const __u32 *words, __u32 before)
{
	if (d->fields[HOTSPOT_KIND].size)
		return hotspot_get(words, before, d->fields[HOTSPOT_KIND]) == d->nmethod_kind;
	return hotspot_names_nmethod(w, hotspot_get(words, before, d->fields[HOTSPOT_NAME]));
}

/* From the header of the block that a blob lies in to what is read of the blob. */
static __always_inline __u32 hotspot_before(const struct hotspot_data *d)
{
	return hotspot_header(d) + d->blob_from;
}

/*
 * Reads the blob at b->at; with_block: and the header of the block that it lies in. 0, or why it
 * cannot be done.
 */
UNWIND_APART int hotspot_read_blob(struct unwind_walk *w, const struct hotspot_data *d,
				   struct hotspot_blob *b, int with_block)
{
	const __u32 *words;
	__u32 before;

	if (!w || !d || !b)
		return UNWIND_END_RUNTIME_STATE;
	words = (const __u32 *)w->piece;
	before = with_block ? hotspot_before(d) : 0;
	if (hotspot_read_words(w, d, b->at, before))
		return UNWIND_END_RUNTIME_MEMORY;
	b->block_end = with_block && hotspot_get(words, 0, d->block_used) == 1
			       ? b->at - hotspot_header(d) +
					 (hotspot_get(words, 0, d->block_length)
					  << (d->heaps[0].shift & 31))
			       : 0;
	b->name = hotspot_get(words, before, d->fields[HOTSPOT_NAME]);
	b->code = hotspot_get(words, before, d->fields[HOTSPOT_CODE]);
	b->frame_size = hotspot_get(words, before, d->fields[HOTSPOT_FRAME_SIZE]);
	/* -1: a function that makes none */
	b->is_piece = b->frame_size != 0;
	b->frame_size = (__s32)b->frame_size <= 0 ? 0 : b->frame_size * 8;
	b->complete = hotspot_get(words, before, d->fields[HOTSPOT_FRAME_COMPLETE]);
	if (d->fields[HOTSPOT_FRAME_COMPLETE].size == 2)
		b->complete = (__s16)b->complete;
	b->compile_id = hotspot_get(words, before, d->fields[HOTSPOT_COMPILE_ID]);
	b->original_pc = hotspot_get(words, before, d->fields[HOTSPOT_ORIGINAL_PC]);
	b->level = hotspot_get(words, before, d->fields[HOTSPOT_LEVEL]);
	b->deopt = hotspot_get(words, before, d->fields[HOTSPOT_DEOPT]);
	b->deopt_mh = hotspot_get(words, before, d->fields[HOTSPOT_DEOPT_MH]);
	if (d->code_is_offset) {
		b->code += b->at;
		b->deopt += b->at;
		b->deopt_mh += b->at;
	}
	if (b->frame_size > HOTSPOT_FRAME_MAX)
		return UNWIND_END_RUNTIME_STATE;
	b->is_nmethod = hotspot_is_nmethod(w, d, words, before);
	return 0;
}

#endif
