/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RUNTIME_GO_GO_H
#define BPF_RUNTIME_GO_GO_H

/*
 * Frames of Go (see runtimes.h). Its code is native and has exact rules (src/unwind/go_rules.c),
 * but a thread that works for a goroutine changes stacks: the runtime's own work and C code run on
 * the thread's stack (that of "g0"). Where it goes on below, on the goroutine's, is in the records
 * of both; up to Go 1.20, only there.
 *
 * At the root of a goroutine's stack stand its labels (runtime/pprof), if it has some.
 *
 * A thread's records are its own while it is looked at. From a copy of its stack, taken before,
 * nothing of this can be told: then the walk ends where the stacks change.
 */

#include "bpf/runtime/go/abi.h"
#include "bpf/runtime/kept.h"
#include "bpf/unwind/unwind.h"

static __always_inline int go_is_in(const struct go_range *range, __u64 at)
{
	return at - range->start < range->end - range->start;
}

/* The goroutine that this thread works for, with the borders of its stack; 0: none. */
struct go_goroutine {
	__u64 at, low, high;
};

static __always_inline int go_find(struct unwind_walk *w, const struct go_data *d,
				   struct go_goroutine *g)
{
	__u64 self, m, back, stack[2];

	g->at = 0;
	if (!w->tls || unwind_read_far(w, &self, sizeof(self), w->tls + d->tls))
		return -1;
	if (!self) /* a thread that C code has made */
		return 0;
	if (unwind_read_far(w, &m, sizeof(m), self + d->g_m) ||
	    unwind_read_far(w, &self, sizeof(self), m + d->m_curg))
		return -1;
	if (!self)
		return 0;
	if (unwind_read_far(w, &back, sizeof(back), self + d->g_m) ||
	    unwind_read_far(w, stack, sizeof(stack), self))
		return -1;
	if (back != m || stack[0] >= stack[1])
		return -1;
	g->at = self;
	g->low = stack[0];
	g->high = stack[1];
	return 0;
}

static __always_inline int go_is_on(const struct go_goroutine *g, __u64 sp)
{
	return g->at && sp > g->low && sp <= g->high;
}

/* The walk cannot go on at another stack. */
static __always_inline int go_stuck(struct unwind_walk *w, enum unwind_end end)
{
	if (unwind_push(w, unwind_at(w)))
		return UNWIND_ENDED;
	return unwind_stop(w, unwind_is_live(w) ? end : UNWIND_END_COPY);
}

/*
 * Leaves the function at w->pc to the place on the goroutine's stack that sp, pc and fp describe.
 */
static __always_inline int go_leave(struct unwind_walk *w, __u64 pc, __u64 sp, __u64 fp)
{
	if (unwind_push(w, unwind_at(w)))
		return UNWIND_ENDED;
	w->guess = 0;
	w->fp_known = 1;
	w->saved_at = UNWIND_SAVED_UNKNOWN;
	return unwind_return_to(w, pc, sp, fp) ? UNWIND_ENDED : UNWIND_MOVED;
}

/*
 * systemstack() has saved where the goroutine is in its record: there lies its own return address.
 */
static __always_inline int go_systemstack(struct unwind_walk *w, const struct go_data *d)
{
	struct go_goroutine g;
	__u64 sp, fp, pc;

	if (!d->frameless || w->pc_exact)
		return UNWIND_NATIVE;
	if (go_find(w, d, &g))
		return go_stuck(w, UNWIND_END_RUNTIME_MEMORY);
	if (go_is_on(&g, w->sp))
		return UNWIND_NATIVE;
	if (!g.at || unwind_read_far(w, &sp, sizeof(sp), g.at + d->g_sp) ||
	    unwind_read_far(w, &fp, sizeof(fp), g.at + d->g_bp) || !go_is_on(&g, sp) ||
	    unwind_read(w, &pc, sizeof(pc), sp))
		return go_stuck(w, UNWIND_END_RUNTIME_STATE);
	return go_leave(w, pc, sp + 8, fp);
}

/*
 * asmcgocall() keeps on the thread's stack whose stack it came from, and how far that reached down
 * from its upper end; or, if it was on the thread's stack already, the stack pointer. C code leaves
 * rbp alone.
 */
static __always_inline int go_asmcgocall(struct unwind_walk *w, const struct go_data *d)
{
	__u64 saved[2], high = 0, sp, pc;

	if (!d->frameless || w->pc_exact)
		return UNWIND_NATIVE;
	if (unwind_read(w, saved, sizeof(saved), w->sp + 40))
		return go_stuck(w, UNWIND_END_MEMORY);
	if (saved[1] && unwind_read_far(w, &high, sizeof(high), saved[1] + 8))
		return go_stuck(w, UNWIND_END_RUNTIME_MEMORY);
	sp = saved[1] ? high - saved[0] : saved[0];
	if (unwind_read(w, &pc, sizeof(pc), sp))
		return go_stuck(w, UNWIND_END_RUNTIME_STATE);
	return go_leave(w, pc, sp + 8, w->fp);
}

/* morestack() has saved where the function is that needs a larger stack. */
static __always_inline int go_morestack(struct unwind_walk *w, const struct go_data *d)
{
	struct go_goroutine g;
	__u64 sp, pc, fp;

	if (w->pc_exact)
		return UNWIND_NATIVE;
	if (go_find(w, d, &g))
		return go_stuck(w, UNWIND_END_RUNTIME_MEMORY);
	if (!g.at) /* preempted there, it is none of this thread's any more */
		return go_stuck(w, UNWIND_END_ROOT);
	if (unwind_read_far(w, &sp, sizeof(sp), g.at + d->g_sp) ||
	    unwind_read_far(w, &pc, sizeof(pc), g.at + d->g_pc) ||
	    unwind_read_far(w, &fp, sizeof(fp), g.at + d->g_bp) || !go_is_on(&g, sp))
		return go_stuck(w, UNWIND_END_RUNTIME_STATE);
	return go_leave(w, pc, sp, fp);
}

/* The labels of a goroutine, as a step reads them. */
struct go_reading {
	struct unwind_walk *walk;
	__u64 hash;
	struct go_kept *kept; /* null: they are only hashed */
	__u64 keys, values;   /* where they are */
	__u32 distance;	      /* from one to the next */
	__u32 used;	      /* bit of a label: it is one */
	__u32 texts;	      /* read so far */
	__u32 failed;
};

/* Reads what is at most to be shown of a string. False: it cannot be read. */
static __always_inline int go_read_string(struct go_reading *r, __u64 address)
{
	__u64 text[(GO_TEXT_MAX + 1) / 8] = {0};
	struct go_string s;
	__u32 i, length;

	if (unwind_read_far(r->walk, &s, sizeof(s), address))
		return 0;
	length = s.length < GO_TEXT_MAX ? s.length : GO_TEXT_MAX;
	/*
	 * the compiler shall not conclude that the mask, which the verifier needs, changes nothing
	 */
	__asm__ volatile("" : "+r"(length));
	length &= GO_TEXT_MAX;
	if (length && unwind_read_far(r->walk, text, length, s.at))
		return 0;
	r->hash = go_mix(r->hash, s.length);
	for (i = 0; i < (GO_TEXT_MAX + 1) / 8; i++)
		r->hash = go_mix(r->hash, text[i]);
	if (r->kept) {
		i = r->texts & (2 * GO_LABELS_MAX - 1);
		r->kept->length[i] = s.length < ~0u ? s.length : ~0u;
		__builtin_memcpy(r->kept->text[i], text, sizeof(text));
	}
	r->texts++;
	return 1;
}

/* For unwind_repeat(): the i-th string, a key or a value. */
static long go_read_text(__u32 i, void *context)
{
	struct go_reading *r = context;
	__u32 label = i / 2;

	if (!(r->used >> (label & 31) & 1))
		return 0;
	r->failed = !go_read_string(r, (i & 1 ? r->values : r->keys) + label * r->distance);
	return r->failed;
}

static __always_inline int go_find_list(struct unwind_walk *w, struct go_reading *r, __u64 at)
{
	struct go_string list;

	if (unwind_read_far(w, &list, sizeof(list), at) || !list.length)
		return 0;
	r->hash = list.length;
	r->used = list.length < GO_LABELS_MAX ? (1u << (list.length & 31)) - 1 : ~0u;
	r->keys = list.at;
	r->values = list.at + sizeof(struct go_string);
	r->distance = 2 * sizeof(struct go_string);
	return 1;
}

static __always_inline int go_find_map(struct unwind_walk *w, struct go_reading *r, __u64 at)
{
	__u8 used[GO_LABELS_MAX];
	struct go_map map;
	__u32 i;

	if (unwind_read_far(w, &at, sizeof(at), at) || !at ||
	    unwind_read_far(w, &map, sizeof(map), at) || !map.count ||
	    unwind_read_far(w, used, sizeof(used), map.buckets))
		return 0;
	r->hash = map.count;
	r->used = 0;
	for (i = 0; i < GO_LABELS_MAX; i++)
		r->used |= (__u32)(used[i] >= GO_MAP_USED) << i;
	r->keys = map.buckets + GO_MAP_KEYS;
	r->values = map.buckets + GO_MAP_VALUES;
	r->distance = sizeof(struct go_string);
	return 1;
}

static __always_inline int go_read_labels(struct unwind_walk *w, const struct go_data *d,
					  struct go_reading *r, __u64 at)
{
	r->texts = 0;
	if (!(d->labels == GO_LABELS_LIST ? go_find_list(w, r, at) : go_find_map(w, r, at)))
		return 0;
	if (r->kept)
		r->kept->count = r->hash;
	unwind_repeat(2 * GO_LABELS_MAX, go_read_text, r);
	return !r->failed;
}

/* The root of a goroutine's stack: what the program says of its work. */
static __always_inline int go_goexit(struct unwind_walk *w, const struct go_data *d)
{
	struct go_reading r = {.walk = w};
	struct go_goroutine g;
	__u64 at, word;

	if (!d->labels)
		return UNWIND_NATIVE;
	if (!unwind_is_live(w))
		return unwind_miss(w, UNWIND_RUNTIME_GO);
	if (go_find(w, d, &g) || !go_is_on(&g, w->sp) ||
	    unwind_read_far(w, &at, sizeof(at), g.at + d->g_labels) || !at)
		return UNWIND_NATIVE;
	if (!go_read_labels(w, d, &r, at))
		return UNWIND_NATIVE;
	word = r.hash;
	r.kept = unwind_keep(word);
	if (r.kept)
		go_read_labels(w, d, &r, at);
	if (unwind_push(w, unwind_at(w)) ||
	    unwind_push_runtime(w, UNWIND_RUNTIME_WORD(UNWIND_RUNTIME_GO, 0, 0), word))
		return UNWIND_ENDED;
	return unwind_stop(w, UNWIND_END_ROOT);
}

static __always_inline int go_step(struct unwind_walk *w)
{
	const struct go_data *d = unwind_data(w);
	__u64 at = unwind_at(w);

	if (!d || !go_is_in(&d->all, at))
		return UNWIND_NATIVE;
	if (go_is_in(&d->goexit, at))
		return go_goexit(w, d);
	if (go_is_in(&d->systemstack, at))
		return go_systemstack(w, d);
	if (go_is_in(&d->asmcgocall, at))
		return go_asmcgocall(w, d);
	if (go_is_in(&d->morestack, at))
		return go_morestack(w, d);
	return UNWIND_NATIVE;
}

#endif
