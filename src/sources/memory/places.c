// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/places.h"

#include <errno.h>
#include <string.h>

#include "bpf/memory/heap_abi.h"
#include "elf/file.h"
#include "arch/insn.h"
#include "arch/isa.h"
#include "runtime/go/places.h"

/* The most symbols of a file that are looked at. */
#define SYMBOLS_MAX 4000000

/* What a hit takes, us: of an instruction that the kernel emulates, and of one that it steps. */
#define COST_FAST 1
#define COST_SLOW 5

#define PREFIXES  6

static const struct {
	const char *name;
	enum mem_heap_call call;
	bool nests;	  /* in malloc(), of glibc */
	bool is_prefixed; /* without a prefix, it may be any function that calls malloc() */
	bool is_operator; /* counts only if it calls none of these (leads_on()) */
} functions[] = {
	{"malloc", MEM_HEAP_CALL_SIZE, false},
	{"calloc", MEM_HEAP_CALL_COUNT, false},
	{"realloc", MEM_HEAP_CALL_AGAIN, true},
	{"aligned_alloc", MEM_HEAP_CALL_ALIGNED, true},
	{"memalign", MEM_HEAP_CALL_ALIGNED, true},
	{"posix_memalign", MEM_HEAP_CALL_TO, true},
	{"valloc", MEM_HEAP_CALL_SIZE, false},
	{"pvalloc", MEM_HEAP_CALL_SIZE, false},
	/* operator new of allocators that have their own */
	{"_Znwm", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_Znam", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnwmRKSt9nothrow_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnamRKSt9nothrow_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnwmSt11align_val_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnamSt11align_val_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", MEM_HEAP_CALL_SIZE, .is_operator = true},
	/* of jemalloc, and of mimalloc: Rust's allocators call these */
	{"mallocx", MEM_HEAP_CALL_SIZE, false},
	{"rallocx", MEM_HEAP_CALL_AGAIN, false},
	{"zalloc", MEM_HEAP_CALL_SIZE, false, true},
	{"malloc_aligned", MEM_HEAP_CALL_SIZE, false, true},
	{"zalloc_aligned", MEM_HEAP_CALL_SIZE, false, true},
	{"realloc_aligned", MEM_HEAP_CALL_AGAIN, false, true},
};
#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

/* What allocators that are linked into a program call theirs. */
static const char *const prefixes[PREFIXES] = {"", "_rjem_", "je_", "mi_", "tc_", "rpmalloc_"};

_Static_assert(PREFIXES *FUNCTIONS <= MEM_PLACES_MAX, "places of a file have room");

/*
 * Where HotSpot says that a thread got a new buffer for its objects, or memory beside it
 * (share/gc/shared/allocTracer.hpp): it calls these whether or not a recording of its own is on.
 * They are local functions, of which only the table of all symbols tells. Their names are mangled
 * with the types of their arguments, which have changed; what they have said since JDK 11 has not.
 */
static const struct {
	const char *prefix;
	enum mem_heap_call call;
} of_java[] = {
	{"_ZN11AllocTracer27send_allocation_in_new_tlabE", MEM_HEAP_CALL_BUFFER},
	{"_ZN11AllocTracer28send_allocation_outside_tlabE", MEM_HEAP_CALL_OBJECT},
};
#define OF_JAVA (sizeof(of_java) / sizeof(of_java[0]))

/*
 * Where Go's runtime takes a span for small objects, or memory for a large one (src/runtime/
 * mcache.go): in mallocgc(), and so seldom that probes there take little. Since 1.19.
 */
static const char *const of_go[] = {"runtime.(*mcache).refill", "runtime.(*mcache).allocLarge"};
#define OF_GO (sizeof(of_go) / sizeof(of_go[0]))

struct finding {
	const struct elf_file *file;
	struct uprobe_place *places;
	size_t count;
	uint64_t found; /* a bit for each function */
	struct {
		uint64_t address, size; /* of the function at that place */
		bool is_operator;
	} of[MEM_PLACES_MAX];
};

/* Number of the function, from the end of a name on; FUNCTIONS: none. */
static size_t function_of(const char *name)
{
	for (size_t p = 0; p < PREFIXES; p++) {
		size_t length = strlen(prefixes[p]);

		if (strncmp(name, prefixes[p], length))
			continue;
		for (size_t i = 0; i < FUNCTIONS; i++)
			if (!strcmp(name + length, functions[i].name) &&
			    (length || !functions[i].is_prefixed))
				return i;
	}
	return FUNCTIONS;
}

/* Whether a probe there costs little: the kernel emulates such a push. */
static bool is_push(const uint8_t *code, size_t left)
{
	struct isa_insn insn;

	return isa_read(&insn, code, left) && isa_is_push(&insn) &&
	       isa_cost(&insn) == ISA_COST_EMULATED;
}

/* A no-op that the kernel may replace: no probe may be there. */
static bool is_replaced(const uint8_t *code, size_t left)
{
	struct isa_insn insn;

	return isa_read(&insn, code, left) && isa_cost(&insn) == ISA_COST_REPLACED;
}

/* Fills a place, but for its cookie's call; false: it cannot be probed. */
static bool place_of(const struct elf_file *file, uint64_t offset, struct uprobe_place *place)
{
	uint8_t code[16];
	uint64_t cost;
	size_t landing;
	bool is_marked;

	if (!elf_file_read(file, offset, code, sizeof(code)) || is_replaced(code, sizeof(code)))
		return false;
	/* which only says that one may jump here */
	landing = isa_landing(code, sizeof(code));
	is_marked = landing && is_push(code + landing, sizeof(code) - landing);
	offset += is_marked ? landing : 0;
	cost = is_marked || is_push(code, sizeof(code)) ? COST_FAST : COST_SLOW;
	*place = (struct uprobe_place){
		.offset = offset, .kind = UPROBE_ENTRY, .cookie = MEM_HEAP_CALL_COST(cost)};
	return true;
}

/* False: there are as many as there may be. */
static bool add(struct finding *finding, const Elf64_Sym *symbol, uint64_t cookie, size_t number)
{
	struct uprobe_place place;
	uint64_t offset;

	if (!elf_file_offset(finding->file, symbol->st_value, &offset) ||
	    !place_of(finding->file, offset, &place))
		return true;
	finding->found |= 1ull << number;
	/* several names of one function */
	for (size_t i = 0; i < finding->count; i++)
		if (finding->places[i].offset == place.offset)
			return true;
	if (finding->count == MEM_PLACES_MAX)
		return false;
	place.cookie |= cookie;
	place.entry_cookie = place.cookie;
	finding->of[finding->count].address = symbol->st_value;
	finding->of[finding->count].size = symbol->st_size;
	finding->places[finding->count++] = place;
	return true;
}

static bool is_function(const Elf64_Sym *symbol)
{
	return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
}

static bool match_malloc(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	size_t function = is_function(symbol) ? function_of(elf_strings_get(names, symbol->st_name))
					      : FUNCTIONS;
	struct finding *finding = context;
	size_t before = finding->count;

	if (function == FUNCTIONS)
		return true;
	if (!add(finding, symbol,
		 functions[function].call | (functions[function].nests ? MEM_HEAP_CALL_NESTS : 0u),
		 function))
		return false;
	if (finding->count > before)
		finding->of[before].is_operator = functions[function].is_operator;
	return true;
}

/* Longer than any operator new. */
#define OPERATOR_MAX 512

/*
 * Whether the operator at a place has another of the functions do its work, which has a probe, too:
 * those of libstdc++ call malloc() or each other, and so what they allocate would count several
 * times. Those of allocators that are faster do the work themselves.
 */
static bool leads_on(const struct finding *finding, size_t place)
{
	uint64_t address = finding->of[place].address, offset, size = finding->of[place].size;
	uint8_t code[OPERATOR_MAX];
	struct insn insn;
	size_t at, i;

	if (size > sizeof(code))
		size = sizeof(code);
	if (!elf_file_offset(finding->file, address, &offset) ||
	    !elf_file_read(finding->file, offset, code, size))
		return false;
	for (at = 0; at < size && insn_read(&insn, code + at, size - at, address + at);
	     at += insn.size)
		for (i = 0; i < finding->count && insn.has_target; i++)
			if (i != place && insn.target == finding->of[i].address)
				return true;
	return false;
}

static void drop_operators(struct finding *finding)
{
	bool drops[MEM_PLACES_MAX];
	size_t i, kept = 0;

	for (i = 0; i < finding->count; i++)
		drops[i] = finding->of[i].is_operator && leads_on(finding, i);
	for (i = 0; i < finding->count; i++)
		if (!drops[i])
			finding->places[kept++] = finding->places[i];
	finding->count = kept;
}

static bool match_java(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	const char *name = is_function(symbol) ? elf_strings_get(names, symbol->st_name) : "";

	for (size_t i = 0; i < OF_JAVA; i++)
		if (!strncmp(name, of_java[i].prefix, strlen(of_java[i].prefix)))
			return add(context, symbol, of_java[i].call, i);
	return true;
}

static const char *file_name(const struct image *image)
{
	const char *name = strrchr(image->path, '/');

	return name ? name + 1 : "";
}

static bool is_glibc(const struct image *image)
{
	return !strcmp(file_name(image), "libc.so.6") || !strncmp(file_name(image), "libc-2.", 7);
}

static size_t find_malloc(struct finding *finding, const struct image *image)
{
	elf_each_symbol(finding->file, SHT_DYNSYM, SYMBOLS_MAX, match_malloc, finding);
	/* of a program that brings its own, maybe */
	if (!(finding->found & 1))
		elf_each_symbol(finding->file, SHT_SYMTAB, SYMBOLS_MAX, match_malloc, finding);
	drop_operators(finding);
	for (size_t i = 0; i < finding->count && !is_glibc(image); i++) {
		finding->places[i].cookie &= ~(uint64_t)MEM_HEAP_CALL_NESTS;
		finding->places[i].entry_cookie = finding->places[i].cookie;
	}
	return finding->found & 1 ? finding->count : 0;
}

static size_t find_java(struct finding *finding, bool *is_refused)
{
	elf_each_symbol(finding->file, SHT_SYMTAB, SYMBOLS_MAX, match_java, finding);
	*is_refused = finding->found != (1u << OF_JAVA) - 1;
	return *is_refused ? 0 : finding->count;
}

static size_t find_go(const struct image *image, struct uprobe_place *places, bool *is_refused)
{
	static const enum mem_heap_call calls[OF_GO] = {MEM_HEAP_CALL_SPAN, MEM_HEAP_CALL_LARGE};
	uint64_t offsets[OF_GO];
	struct fail why = {0};
	int err = go_places_find(image, of_go, OF_GO, offsets, &why);

	*is_refused = err != -ENOENT && (err || !offsets[0] || !offsets[1]);
	for (size_t i = 0; i < OF_GO && !err && !*is_refused; i++) {
		places[i] = (struct uprobe_place){
			.offset = offsets[i],
			.kind = UPROBE_ENTRY,
			.cookie = calls[i] | MEM_HEAP_CALL_COST(COST_FAST),
		};
		places[i].entry_cookie = places[i].cookie;
	}
	return err || *is_refused ? 0 : OF_GO;
}

size_t mem_places_find(enum mem_places_of of, const struct image *image,
		       struct uprobe_place places[MEM_PLACES_MAX], bool *is_refused)
{
	struct finding finding = {.places = places};
	struct elf_file file;
	size_t count;

	*is_refused = false;
	if (of == MEM_PLACES_GO)
		return image->fd >= 0 && image->is_elf ? find_go(image, places, is_refused) : 0;
	if (image->fd < 0 || !image->is_elf ||
	    (of == MEM_PLACES_JAVA && strcmp(file_name(image), "libjvm.so") != 0) ||
	    elf_file_open(&file, image->fd))
		return 0;
	finding.file = &file;
	count = of == MEM_PLACES_JAVA ? find_java(&finding, is_refused)
				      : find_malloc(&finding, image);
	elf_file_close(&file);
	return count;
}
