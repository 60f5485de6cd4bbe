// SPDX-License-Identifier: Apache-2.0
/*
 * Mappings, and what of them is in RAM, come from /proc/PID/smaps. What anonymous ones are shows
 * in what lies in them: chunks of malloc(), pools of Python, the control block at the end of a
 * thread's stack. Nothing is read that is not in RAM.
 */
#include "sources/memory/rss_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sources/memory/rss_reading.h"
#include "runtime/allocators/glibc.h"
#include "runtime/python/pools.h"

/*
 * The most parts of one reading; names beyond that have one in common. A large program maps some
 * hundred libraries, each with two parts.
 */
#define NAMES_MAX 2048
#define OTHERS	  "[others]"

/* The most bytes of heaps that are walked in one reading: about 60 ms. */
#define WALK_MAX (128ull << 20)

/* The most pages of other anonymous memory that one reading asks for, and reads: about 200 ms. */
#define LOOKS_MAX (8ull << 20)
#define READS_MAX (64ull << 10)

/* The control block of a thread lies within this many bytes of the end of its stack. */
#define CONTROL_BLOCK_WITHIN (32u << 10)

/* Go's heap begins here on 64-bit machines (runtime/malloc.go), and the kernel maps nothing near.
 */
#define GO_HEAP_FROM 0xc000000000ull
#define GO_HEAP_TO   0x1c000000000ull

#define LARGEST_DATA (1u << 20) /* of libc */

#define STATUS_MAX   8192u

/* arch/x86/include/asm/page_64_types.h: THREAD_SIZE */
#define KERNEL_STACK 16384u

static const struct {
	const char *group, *words;
} kinds[RSS_KINDS] = {
	[RSS_HEAP_IN_USE] = {"[malloc]", "[in use]"},
	[RSS_HEAP_LARGE] = {"[malloc]", "[in use, with a mapping of its own]"},
	[RSS_HEAP_FREE] = {"[malloc]", "[free, kept by the allocator]"},
	[RSS_HEAP_UNREAD] = {"[malloc]", "[in use or free: not read]"},
	[RSS_JEMALLOC_IN_USE] = {"[jemalloc]", "[in use, or kept by threads]"},
	[RSS_JEMALLOC_FREE] = {"[jemalloc]", "[free, kept by the allocator]"},
	[RSS_JEMALLOC_UNREAD] = {"[jemalloc]", "[in use or free: not read]"},
	[RSS_JEMALLOC_OWN] = {"[jemalloc]", "[the allocator's own]"},
	[RSS_PYTHON_IN_USE] = {"[Python objects]", "[in use]"},
	[RSS_PYTHON_FREE] = {"[Python objects]", "[free, kept by the allocator]"},
	[RSS_GO_HEAP] = {"[Go]", "[heap]"},
	[RSS_GO_OWN] = {"[Go]", "[the runtime's own]"},
	[RSS_JAVA_OBJECTS] = {"[Java]", "[heap: objects, garbage as well]"},
	[RSS_JAVA_FREE] = {"[Java]", "[heap: free]"},
	[RSS_JAVA_HEAP] = {"[Java]", "[heap: objects or free]"},
	[RSS_JAVA_CODE] = {"[Java]", "[compiled code]"},
	[RSS_JAVA_CLASSES] = {"[Java]", "[classes]"},
	[RSS_JAVA_CARDS] = {"[Java]", "[card table of the garbage collector]"},
	[RSS_V8_OBJECTS] = {"[JavaScript]", "[heap: objects, garbage as well]"},
	[RSS_V8_FREE] = {"[JavaScript]", "[heap: free]"},
	[RSS_V8_OWN] = {"[JavaScript]", "[the engine's own]"},
	[RSS_STACK_FIRST] = {"[stacks]", "[first thread]"},
	[RSS_STACK_OTHERS] = {"[stacks]", "[other threads]"},
	[RSS_FILE] = {"[files]", NULL},
	[RSS_FILE_COPY] = {"[data of files]", NULL},
	[RSS_SHARED] = {"[shared memory]", NULL},
	[RSS_KERNEL] = {"[pages of the kernel]", NULL},
	[RSS_NAMED] = {"[anonymous memory with a name]", NULL},
	[RSS_UNKNOWN] = {"[not explained]", "[anonymous memory]"},
	[RSS_UNREAD] = {"[not explained]", "[anonymous memory: not looked at, it is large]"},
	[RSS_LATER_ANONYMOUS] = {"[not explained]", "[anonymous memory: its turn had not come]"},
	[RSS_LATER_FILES] = {"[not explained]", "[files: their turn had not come]"},
	[RSS_LATER_SHARED] = {"[not explained]", "[shared memory: its turn had not come]"},
	[RSS_GROWN] = {"[not explained]", "[grown since it was read]"},
};

static const enum rss_kind of_use[RUNTIME_USES] = {
	[RUNTIME_USE_OBJECTS] = RSS_JAVA_OBJECTS, [RUNTIME_USE_FREE] = RSS_JAVA_FREE,
	[RUNTIME_USE_HEAP] = RSS_JAVA_HEAP,	  [RUNTIME_USE_CODE] = RSS_JAVA_CODE,
	[RUNTIME_USE_CLASSES] = RSS_JAVA_CLASSES, [RUNTIME_USE_CARDS] = RSS_JAVA_CARDS,
};

const char *rss_group(enum rss_kind kind)
{
	return kinds[kind].group;
}

const char *rss_words(enum rss_kind kind)
{
	return kinds[kind].words;
}

/* -- parts ------------------------------------------------------------------------------------- */

void rss_add(struct rss_reading *r, enum rss_kind kind, const char *name, uint64_t bytes)
{
	char *copy = NULL;

	if (!bytes)
		return;
	if (name && r->parts->all.count >= NAMES_MAX)
		name = OTHERS;
	vec_foreach (&r->parts->all, part) {
		if (part->kind != kind || (name && strcmp(part->name, name)))
			continue;
		part->bytes += bytes;
		return;
	}
	if (name && !(copy = strdup(name)))
		r->no_memory = true;
	else if (!vec_push(&r->parts->all, (struct rss_part){kind, copy, bytes})) {
		r->no_memory = true;
		free(copy);
	}
}

/*
 * Some bytes, and some others, of a mapping of which so much was in RAM when it was asked: what is
 * missing is of a third kind; what is too much has come since.
 */
static void add_both(struct rss_reading *r, uint64_t rss, enum rss_kind one, uint64_t of_one,
		     enum rss_kind other, uint64_t of_other, enum rss_kind rest)
{
	uint64_t sum = of_one + of_other;

	if (sum > rss) {
		of_other = (uint64_t)((double)rss * (double)of_other / (double)sum);
		of_one = rss - of_other;
		sum = rss;
	}
	rss_add(r, one, NULL, of_one);
	rss_add(r, other, NULL, of_other);
	rss_add(r, rest, NULL, rss - sum);
}

bool rss_is_plain(const struct smaps_mapping *mapping)
{
	return !*mapping->at.path && mapping->at.writable && !mapping->at.shared;
}

static bool is_data(const struct smaps_mapping *mapping)
{
	return *mapping->at.path == '/' && mapping->at.writable && !mapping->at.shared;
}

const char *rss_bss_of(const struct smaps_mapping *mapping, const struct smaps_mapping *below)
{
	return below && below->at.end == mapping->at.start && is_data(below) ? below->at.path
									     : NULL;
}

/* -- heaps of malloc() ------------------------------------------------------------------------- */

/* As much of a heap as one reading may take. */
static void walk(struct rss_reading *r, uint64_t first, uint64_t end, struct glibc_heap *heap)
{
	uint64_t left = WALK_MAX - r->walked;

	*heap = (struct glibc_heap){0};
	if (left < end - first) {
		end = first + left / RESIDENT_PAGE * RESIDENT_PAGE;
		r->parts->too_large++;
	}
	if (end > first)
		glibc_heap_walk(&r->memory, first, end, heap);
	r->walked += end - first;
}

/* fast: bytes of small free chunks that look as if they were in use. */
static void add_walked(struct rss_reading *r, uint64_t rss, const struct glibc_heap *heap,
		       uint64_t fast)
{
	uint64_t cached = heap->cached + fast;

	cached = cached < heap->in_use ? cached : heap->in_use;
	add_both(r, rss, RSS_HEAP_IN_USE, heap->in_use - cached, RSS_HEAP_FREE, heap->free + cached,
		 RSS_HEAP_UNREAD);
}

static bool is_data_of_libc(const struct smaps_mapping *mapping)
{
	const char *name = strrchr(mapping->at.path, '/');

	return name && mapping->at.writable && !mapping->at.shared &&
	       mapping->at.end - mapping->at.start <= LARGEST_DATA &&
	       (!strcmp(name, "/libc.so.6") || !strncmp(name, "/libc-2.", 8));
}

/* The small free chunks of the main heap, whose arena is in libc's data. */
static uint64_t fast_of_main(struct rss_reading *r, uint64_t top)
{
	vec_foreach (&r->mappings, mapping) {
		uint64_t arena;

		if (!is_data_of_libc(mapping))
			continue;
		arena = glibc_heap_main_arena(&r->memory, mapping->at.start, mapping->at.end, top);
		if (arena)
			return glibc_heap_fast(&r->memory, arena);
	}
	return 0;
}

static void add_main_heap(struct rss_reading *r, const struct smaps_mapping *mapping)
{
	struct glibc_heap heap;

	walk(r, mapping->at.start, mapping->at.end, &heap);
	add_walked(r, mapping->rss, &heap, heap.top ? fast_of_main(r, heap.top) : 0);
}

/* Heaps of threads' arenas that follow each other. Returns where the last one ends. */
static uint64_t add_heaps_of_threads(struct rss_reading *r, uint64_t at, uint64_t limit)
{
	uint64_t first, end, arena;

	while (glibc_heap_of_thread(&r->memory, at, &first, &end, &arena) && end <= limit) {
		bool is_last = end - at < GLIBC_HEAP_ALIGNMENT || end == limit;
		uint64_t to = is_last ? limit : end;
		struct glibc_heap heap;

		walk(r, first, end, &heap);
		/* its arena, in front of the chunks, is in use */
		heap.in_use += first - at;
		resident_forget(&r->memory, to);
		add_walked(r, resident_bytes(&r->memory, at, to), &heap,
			   arena < end && arena > at ? glibc_heap_fast(&r->memory, arena) : 0);
		at = to;
		if (is_last)
			break;
	}
	return at;
}

/* -- other anonymous memory -------------------------------------------------------------------- */

static void add_pool(struct rss_reading *r, uint64_t at, uint64_t size, uint64_t in_use)
{
	uint64_t there = resident_bytes(&r->memory, at, at + size);

	in_use = in_use < there ? in_use : there;
	rss_add(r, RSS_PYTHON_IN_USE, NULL, in_use);
	rss_add(r, RSS_PYTHON_FREE, NULL, there - in_use);
}

/* -- pages ------------------------------------------------------------------------------------- */

/*
 * Looks at each page: does something begin here? Up to the first thing that does, pages are the
 * .bss of a file, if there is one.
 */
static void add_pages(struct rss_reading *r, uint64_t at, uint64_t end, const char *bss)
{
	enum rss_kind otherwise = r->has_go_heap && !r->has_libc ? RSS_GO_OWN : RSS_UNKNOWN;

	resident_forget(&r->memory, end);
	while (at < end && !r->memory.is_spent) {
		uint64_t size, next = rss_add_jemalloc(r, at, end);
		struct python_pool pool;

		next = next > at ? next : rss_add_v8(r, at, end);
		if (next > at) {
			at = next;
			bss = NULL;
			continue;
		}
		if (!resident_has(&r->memory, at)) {
			at += RESIDENT_PAGE;
			continue;
		}
		size = glibc_heap_mapped(&r->memory, at, end);
		if (size) {
			rss_add(r, RSS_HEAP_LARGE, NULL, resident_bytes(&r->memory, at, at + size));
		} else if ((size = python_pool(&r->memory, at, &pool)) && size <= end - at) {
			add_pool(r, at, size, pool.in_use);
		} else {
			size = RESIDENT_PAGE;
			rss_add(r, bss ? RSS_FILE_COPY : otherwise, bss, size);
			at += size;
			continue;
		}
		at += size;
		bss = NULL;
	}
}

/*
 * A thread's control block says its own address, twice (tcbhead_t of glibc), and lies at the end of
 * its stack; pages that cannot be touched lie below it.
 */
static bool is_stack(struct rss_reading *r, const struct smaps_mapping *mapping,
		     const struct smaps_mapping *below)
{
	uint64_t from = mapping->at.end - mapping->at.start > CONTROL_BLOCK_WITHIN
				? mapping->at.end - CONTROL_BLOCK_WITHIN
				: mapping->at.start;
	uint64_t word, again;

	if (!below || below->at.end != mapping->at.start || below->at.readable || *below->at.path)
		return false;
	resident_forget(&r->memory, mapping->at.end);
	for (uint64_t at = mapping->at.end - 64; at > from; at -= 64)
		if (resident_word(&r->memory, at, &word) && word == at &&
		    resident_word(&r->memory, at + 16, &again) && again == at)
			return true;
	return false;
}

static uint64_t sum_of(const struct rss_parts *parts)
{
	uint64_t sum = 0;

	vec_foreach (&parts->all, part)
		sum += part->bytes;
	return sum;
}

/* How much between two addresses of a mapping is in RAM. */
static uint64_t bytes_of(struct rss_reading *r, const struct smaps_mapping *mapping, uint64_t from,
			 uint64_t to)
{
	uint64_t size = mapping->at.end - mapping->at.start;

	if (mapping->rss == size || to - from == size)
		return mapping->rss == size ? to - from : mapping->rss;
	resident_forget(&r->memory, mapping->at.end);
	return resident_bytes(&r->memory, from, to);
}

/*
 * What runtimes say of a mapping, and what lies between, which is looked at. Where two say
 * something of the same, the first one is believed.
 */
static void add_used(struct rss_reading *r, const struct smaps_mapping *mapping, const char *bss)
{
	uint64_t at = mapping->at.start, end = mapping->at.end;

	while (r->span < r->spans.all.count && r->spans.all.at[r->span].end <= at)
		r->span++;
	for (size_t i = r->span; at < end; i++) {
		const struct runtime_span *span =
			i < r->spans.all.count ? &r->spans.all.at[i] : NULL;
		uint64_t from = span && span->start < end ? span->start : end, to;

		if (from > at) {
			uint64_t heaps = add_heaps_of_threads(r, at, from);

			add_pages(r, heaps, from, at == mapping->at.start ? bss : NULL);
			at = from;
		}
		if (!span || from == end)
			return;
		to = span->end < end ? span->end : end;
		if (to <= at)
			continue;
		rss_add(r, of_use[span->use], NULL, bytes_of(r, mapping, at, to));
		at = to;
	}
}

static void add_anonymous(struct rss_reading *r, const struct smaps_mapping *mapping,
			  const struct smaps_mapping *below)
{
	/* a large one leaves some to those behind */
	uint64_t sum, looks = r->looks / 2, reads = r->reads / 2;

	if (mapping->at.start >= GO_HEAP_FROM && mapping->at.start < GO_HEAP_TO) {
		rss_add(r, RSS_GO_HEAP, NULL, mapping->rss);
		return;
	}
	if (is_stack(r, mapping, below)) {
		rss_add(r, RSS_STACK_OTHERS, NULL, mapping->rss);
		return;
	}
	sum = sum_of(r->parts);
	resident_allow(&r->memory, looks, reads);
	add_used(r, mapping, rss_bss_of(mapping, below));
	r->looks -= looks - r->memory.looks;
	r->reads -= reads - r->memory.reads;
	sum = sum_of(r->parts) - sum;
	r->parts->unread += r->memory.is_spent;
	/* what went meanwhile; what came is in the next reading as well */
	if (sum < mapping->rss)
		rss_add(r, r->memory.is_spent ? RSS_UNREAD : RSS_UNKNOWN, NULL, mapping->rss - sum);
	resident_allow(&r->memory, UINT64_MAX, UINT64_MAX);
}

/* -- mappings ---------------------------------------------------------------------------------- */

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool is_shared(const struct procfs_mapping *at)
{
	return begins(at->path, "/dev/shm/") || begins(at->path, "/memfd:") ||
	       begins(at->path, "/SYSV") || begins(at->path, "[anon_shmem:") ||
	       (at->shared && begins(at->path, "/dev/zero"));
}

static void add_mapping(struct rss_reading *r, const struct smaps_mapping *mapping,
			const struct smaps_mapping *below)
{
	const char *path = mapping->at.path;

	if (!mapping->rss)
		return;
	if (is_shared(&mapping->at)) {
		rss_add(r, RSS_SHARED, path, mapping->rss);
	} else if (*path == '/') {
		rss_add(r, RSS_FILE, path, mapping->rss - mapping->anonymous);
		rss_add(r, RSS_FILE_COPY, path, mapping->anonymous);
	} else if (!strcmp(path, "[heap]")) {
		add_main_heap(r, mapping);
	} else if (!strcmp(path, "[stack]")) {
		rss_add(r, RSS_STACK_FIRST, NULL, mapping->rss);
	} else if (begins(path, "[anon:")) {
		rss_add(r, RSS_NAMED, path, mapping->rss);
	} else if (*path) {
		rss_add(r, RSS_KERNEL, path, mapping->rss);
	} else {
		add_anonymous(r, mapping, below);
	}
}

static void keep_mapping(void *context, const struct smaps_mapping *mapping)
{
	struct rss_reading *r = context;
	struct smaps_mapping kept = *mapping;

	kept.at.path = strdup(mapping->at.path);
	if (!kept.at.path || !vec_push(&r->mappings, kept)) {
		free(kept.at.path);
		r->no_memory = true;
		return;
	}
	r->has_go_heap |=
		mapping->at.start >= GO_HEAP_FROM && mapping->at.start < GO_HEAP_TO && mapping->rss;
	r->has_libc |= is_data_of_libc(mapping);
}

/* The memory of the process for its runtimes: only what is in RAM. */
static int read_present(void *context, void *to, size_t size, uint64_t address)
{
	return resident_read(context, to, size, address) ? 0 : -EFAULT;
}

static int compare_spans(const void *a, const void *b)
{
	const struct runtime_span *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static void read_spans(struct rss_reading *r, const struct rss_uses *uses)
{
	const struct runtime_memory memory = {read_present, &r->memory};

	uses->spans(uses->context, &memory, &r->spans);
	r->parts->is_uses_cut = r->spans.is_cut;
	if (r->spans.all.count)
		qsort(r->spans.all.at, r->spans.all.count, sizeof(r->spans.all.at[0]),
		      compare_spans);
}

int rss_explain(pid_t pid, const struct rss_uses *uses, struct rss_parts *parts)
{
	struct rss_reading r = {.parts = parts, .looks = LOOKS_MAX, .reads = READS_MAX};
	const struct smaps_mapping *below = NULL;
	int err;

	*parts = (struct rss_parts){0};
	err = resident_open(&r.memory, pid);
	if (err)
		return err == -ENOENT ? -ESRCH : err;
	err = smaps_read(pid, keep_mapping, &r);
	parts->is_cut = err == -EFBIG;
	if (!err || err == -EFBIG) {
		err = 0;
		read_spans(&r, uses);
		rss_find_jemalloc(&r);
		vec_foreach (&r.mappings, mapping) {
			add_mapping(&r, mapping, below);
			below = mapping;
		}
		parts->total = sum_of(parts);
		parts->too_large += r.jemalloc.looks > JEMALLOC_LOOKS_MAX;
	}
	resident_close(&r.memory);
	vec_foreach (&r.mappings, mapping)
		free(mapping->at.path);
	vec_free(&r.mappings);
	vec_free(&r.spans.all);
	if (r.no_memory && !err)
		err = -ENOMEM;
	if (err)
		rss_parts_free(parts);
	return err;
}

int rss_count(pid_t pid, struct rss_counts *counts)
{
	struct buf text = {0};
	int err = procfs_read(pid, "status", STATUS_MAX, &text);
	const char *status = (const char *)text.at;

	*counts = (struct rss_counts){0};
	if (!err)
		*counts = (struct rss_counts){
			/* proc(5): these add up to VmRSS */
			.anonymous = procfs_kb(status, "RssAnon"),
			.files = procfs_kb(status, "RssFile"),
			.shared = procfs_kb(status, "RssShmem"),
			.page_tables = procfs_kb(status, "VmPTE"),
			.swapped_out = procfs_kb(status, "VmSwap"),
			/* a number, and not kB */
			.kernel_stacks = procfs_kb(status, "Threads") / 1024 * KERNEL_STACK,
		};
	buf_free(&text);
	return err;
}

void rss_parts_free(struct rss_parts *parts)
{
	vec_foreach (&parts->all, part)
		free(part->name);
	vec_free(&parts->all);
	*parts = (struct rss_parts){0};
}
