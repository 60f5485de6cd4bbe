// SPDX-License-Identifier: Apache-2.0
/*
 * src/runtime/mprof.go of Go 1.19 to 1.27: runtime.mbuckets is the head of a list, by allnext, of
 *
 *	type bucket struct {
 *		next, allnext *bucket
 *		typ           bucketType // 1: of memory
 *		hash, size    uintptr
 *		nstk          uintptr
 *	}
 *
 * followed by nstk return addresses and a memRecord, which begins with the "active" cycle: {allocs,
 * frees, alloc_bytes, free_bytes}, complete as of the last collection; since 1.27 without the
 * bytes, which are size for each. Buckets are never given back. Of a program without symbols, its
 * code says where these are (go/heap_code.c). If nothing in a program asks for the profile, the
 * linker sets the rate to 0, and there are no buckets.
 */
#include "runtime/go/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "elf/file.h"
#include "runtime/go/heap_code.h"
#include "runtime/runtime.h"

#define OF_MEMORY 1

/* The versions that are known: 1.19 to 1.27; and the first one whose buckets have no bytes. */
#define MINOR_FIRST    19
#define MINOR_LAST     27
#define MINOR_NO_BYTES 27

/* The most symbols that are looked at; the largest programs have a tenth. */
#define SYMBOLS_MAX 4000000

struct header {
	uint64_t next, allnext, typ, hash, size, nstk;
};

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
	{"runtime.mbuckets", offsetof(struct go_heap, buckets)},
	{"runtime.MemProfileRate", offsetof(struct go_heap, rate)},
};

static bool take_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct go_heap *heap = context;

	if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT)
		return true;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++)
		if (!strcmp(elf_strings_get(names, symbol->st_name), symbols[i].name))
			memcpy((char *)heap + symbols[i].at, &symbol->st_value,
			       sizeof(symbol->st_value));
	return !heap->buckets || !heap->rate;
}

/* Where the linker of C takes part, the table of functions has another name. */
static bool is_of_go(const struct elf_file *file)
{
	return elf_file_section(file, ".gopclntab") ||
	       elf_file_section(file, ".data.rel.ro.gopclntab") ||
	       elf_file_section(file, ".go.buildinfo");
}

/*
 * The minor number of Go's version, from .go.buildinfo (debug/buildinfo of Go's library): since
 * 1.18 the version stands in it, behind its length. 0: not known.
 */
static uint32_t minor_of(const struct elf_file *file)
{
	const struct elf_section *section = elf_file_section(file, ".go.buildinfo");
	char head[64] = "";
	unsigned int minor;

	if (!section || section->size < sizeof(head) ||
	    !elf_file_read(file, section->offset, head, sizeof(head) - 1) || !(head[15] & 2) ||
	    sscanf(head + 33, "go1.%3u", &minor) != 1)
		return 0;
	return minor;
}

int go_heap_of(struct go_heap *heap, const struct image *image, struct fail *why)
{
	struct elf_file file;
	int err;

	*heap = (struct go_heap){0};
	if (image->fd < 0 || !image->is_elf)
		return -ENOENT;
	err = elf_file_open(&file, image->fd);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!is_of_go(&file) || !file.is_64)
		err = -ENOENT;
	else
		err = elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, take_symbol, heap);
	heap->minor = err ? 0 : minor_of(&file);
	elf_file_close(&file);
	if (!err && (!heap->buckets || !heap->rate) && go_heap_in_code(heap, image, why))
		err = fail(why, -ENOTSUP, NULL,
			   "it is stripped of its symbols, and its code is not like that of a "
			   "known version");
	if (!err && (heap->minor < MINOR_FIRST || heap->minor > MINOR_LAST))
		err = fail(why, -ENOTSUP, NULL, "its version is not known");
	return err;
}

/* One bucket. Returns 1; 0: it is of something else; a negative errno. *next: the one behind it. */
static int read_bucket(const struct go_heap *heap, const struct runtime_memory *memory, uint64_t at,
		       uint64_t *next, struct go_heap_bucket *bucket)
{
	uint64_t words[GO_HEAP_STACK_MAX + 4];
	struct header header;
	int err = memory->read(memory->context, &header, sizeof(header), at);

	if (err)
		return err;
	*next = header.allnext;
	if (header.typ != OF_MEMORY || header.nstk > GO_HEAP_STACK_MAX)
		return 0;
	err = memory->read(memory->context, words, (header.nstk + 4) * sizeof(words[0]),
			   at + sizeof(header));
	if (err)
		return err;
	bucket->address = at;
	bucket->count = (uint32_t)header.nstk;
	memcpy(bucket->stack, words, header.nstk * sizeof(words[0]));
	bucket->allocs = words[header.nstk];
	bucket->frees = words[header.nstk + 1];
	bucket->alloc_bytes = words[header.nstk + 2];
	bucket->free_bytes = words[header.nstk + 3];
	if (heap->minor >= MINOR_NO_BYTES &&
	    (__builtin_mul_overflow(bucket->allocs, header.size, &bucket->alloc_bytes) ||
	     __builtin_mul_overflow(bucket->frees, header.size, &bucket->free_bytes)))
		return 0;
	return bucket->frees <= bucket->allocs && bucket->free_bytes <= bucket->alloc_bytes;
}

int go_heap_read(const struct go_heap *heap, const struct runtime_memory *memory, uint64_t bias,
		 uint64_t *rate, void (*take)(void *context, const struct go_heap_bucket *bucket),
		 void *context)
{
	struct go_heap_bucket bucket = {0};
	uint64_t at = 0;
	int err, count = 0;

	err = memory->read(memory->context, rate, sizeof(*rate), heap->rate + bias);
	if (!err)
		err = memory->read(memory->context, &at, sizeof(at), heap->buckets + bias);
	for (; !err && at; count++) {
		int got;

		if (count == GO_HEAP_BUCKETS_MAX)
			return -E2BIG;
		got = read_bucket(heap, memory, at, &at, &bucket);
		if (got < 0)
			err = got;
		else if (got && bucket.allocs)
			take(context, &bucket);
	}
	return err ? err : count;
}
