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
 * code says where these are. If nothing in a program asks for the profile, the
 * linker sets the rate to 0, and there are no buckets.
 */
#include "runtime/go/heap.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "arch/isa.h"
#include "elf/file.h"
#include "runtime/runtime.h"
#include "unwind/go_pclntab.h"

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

static bool match_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
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

/*
 * src/runtime/mprof.go and malloc.go, as the compiler has put them into code from 1.19 to 1.27:
 *
 *	mProf_FlushLocked() loads one variable of 64 bits, mbuckets; stkbucket() takes its address
 *	profilealloc() loads two, mcache0 and MemProfileRate; mallocinit() uses the first alone
 */

#define CODE_MAX (16u << 10) /* bytes of a function; these have up to 1.5 KB */
#define USES_MAX 64	     /* variables that one names */

/* Variables of a function: of 64 bits that it loads; whose addresses it takes; all that it uses. */
struct uses {
	struct variables {
		uint64_t at[USES_MAX];
		size_t count;
	} loads, addresses, all;
};

enum user {
	FLUSH,
	BUCKET,
	PROFILE,
	INIT,
	USERS,
};

static const char *const names[USERS] = {
	[FLUSH] = "runtime.mProf_FlushLocked",
	[BUCKET] = "runtime.stkbucket",
	[PROFILE] = "runtime.profilealloc",
	[INIT] = "runtime.mallocinit",
};

static bool has(const struct variables *variables, uint64_t address)
{
	for (size_t i = 0; i < variables->count; i++)
		if (variables->at[i] == address)
			return true;
	return false;
}

static void keep(struct variables *variables, uint64_t address)
{
	if (!has(variables, address) && variables->count < USES_MAX)
		variables->at[variables->count++] = address;
}

/*
 * "mov mbuckets(%rip), %rax", or "lea mbuckets(%rip), %rcx", at an address. Returns its length; 0:
 * it cannot be read.
 */
static size_t read_insn(struct uses *uses, const uint8_t *code, size_t left, uint64_t address)
{
	struct isa_insn isa;
	struct insn insn;
	uint64_t word;

	if (!isa_read(&isa, code, left) || !insn_read(&insn, code, left, address))
		return 0;
	if (!isa_word(&isa, address + isa.length, &word))
		return insn.size;
	keep(&uses->all, word);
	if (insn.to.where != INSN_REGISTER || insn.to.size != 8)
		return insn.size;
	if (insn.kind == INSN_MOVE)
		keep(&uses->loads, word);
	else if (insn.kind == INSN_LEA)
		keep(&uses->addresses, word);
	return insn.size;
}

static int read_function(struct elf_image *elf, const struct go_function *f, struct uses *uses,
			 struct fail *why)
{
	uint64_t size = f->end - f->start;
	uint8_t *code = size && size <= CODE_MAX ? malloc(size) : NULL;
	int err = code ? 0 : -ENOENT;
	size_t length = 0;

	if (!err && !budget_step(&elf->budget, size))
		err = budget_refuse(&elf->budget, why, "the code of Go's functions");
	if (!err && !elf_image_read(elf, f->start, code, size))
		err = -ENOENT;
	for (uint64_t at = 0; !err && at < size; at += length) {
		length = read_insn(uses, code + at, size - at, f->start + at);
		/* what is behind the function's end fills up */
		if (!length)
			break;
	}
	free(code);
	return err;
}

static int read_users(struct elf_image *elf, struct uses *users, struct fail *why)
{
	struct go_table table;
	struct go_table_walk walk = {&table, &elf->budget, 0};
	struct go_function f;
	const char *name;
	int err = go_table_open(&table, elf);

	while (!err && go_table_next(&walk, &f, &name))
		for (size_t n = 0; !err && n < USERS; n++)
			if (!strcmp(name, names[n]))
				err = read_function(elf, &f, &users[n], why);
	return err || !elf->budget.spent
		       ? err
		       : budget_refuse(&elf->budget, why, "the table of Go's functions");
}

/* Of several candidates, or none, none is taken. */
static int choose(struct go_heap *heap, const struct uses *users)
{
	const struct variables *flushed = &users[FLUSH].loads, *loads = &users[PROFILE].loads;
	size_t rates = 0;

	if (flushed->count != 1 || !has(&users[BUCKET].addresses, flushed->at[0]))
		return -ENOENT;
	heap->buckets = flushed->at[0];
	for (size_t i = 0; i < loads->count; i++) {
		if (has(&users[INIT].all, loads->at[i]))
			continue;
		heap->rate = loads->at[i];
		rates++;
	}
	return rates == 1 && loads->count == 2 ? 0 : -ENOENT;
}

/*
 * Where the profile of the heap is in a program that is stripped of its symbols: read from the code
 * of functions that use it, which Go's own table names.
 *
 * Fills heap->buckets and heap->rate. Returns 0; -ENOENT: the code is not like that of any known
 * version, or the program does not sample, so that the linker has left those functions out; another
 * negative errno with *why filled.
 */
static int go_heap_in_code(struct go_heap *heap, const struct image *image, struct fail *why)
{
	struct uses *users = calloc(USERS, sizeof(*users));
	struct elf_image elf;
	int err;

	if (!users)
		return fail_errno(why, -ENOMEM, NULL, "cannot read the code of a program of Go");
	err = elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, why);
	if (!err)
		err = read_users(&elf, users, why);
	if (!err)
		err = choose(heap, users);
	elf_image_close(&elf);
	free(users);
	return err;
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
		err = elf_each_symbol(&file, SHT_SYMTAB, SYMBOLS_MAX, match_symbol, heap);
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
		 uint64_t *rate, void (*emit)(void *context, const struct go_heap_bucket *bucket),
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
			emit(context, &bucket);
	}
	return err ? err : count;
}
