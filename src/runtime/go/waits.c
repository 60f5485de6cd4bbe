// SPDX-License-Identifier: Apache-2.0
/*
 * gopark(), ready(), execute() and the others are in runtime/proc.go of Go's source. Where
 * probes on them go says go/places.h.
 *
 * The numbers of reasons to wait change with each version. The runtime has their words in a table
 * of strings, waitReasonStrings (runtime/runtime2.go); it is found by what it begins with, which
 * has been the same since Go 1.11.
 */
#include "runtime/go/waits.h"

#include <errno.h>
#include <string.h>

#include "elf/image.h"
#include "runtime/go/places.h"
#include "runtime/go/records.h"
#include "unwind/go_pclntab.h"

/* The most bytes of a segment that are searched for the table. */
#define DATA_MAX (32u << 20)

/* The most bytes of the function that adds to the list of goroutines; it has some 400. */
#define ADD_MAX 2048

/*
 * A goroutine with such a function on its stack, and without the second one, waits for work. One
 * that ends with a dot: what is within it, as the compiler names that.
 */
static const struct {
	const char *function, *unless; /* null: nothing speaks against it */
} idle_rules[] = {
	{"internal/poll.(*FD).Accept", NULL},
	/* a connection of a server between two requests, and who watches it during one */
	{"net/http.(*conn).serve", "net/http.serverHandler.ServeHTTP"},
	{"net/http.(*connReader).backgroundRead", NULL},
	{"net/http.(*http2serverConn).serve", NULL},
	{"net/http.(*http2serverConn).readFrames", NULL},
	/* the ends of a client's connection: it is its request that waits */
	{"net/http.(*persistConn).readLoop", NULL},
	{"net/http.(*persistConn).writeLoop", NULL},
	{"database/sql.(*DB).connectionOpener", NULL},
	/* the runtime's own, for package unique (since 1.23), and for the mask of signals */
	{"runtime.unique_runtime_registerUniqueMapCleanup.", NULL},
	{"runtime.ensureSigM.", NULL},
};

enum {
	IDLE_RULES = sizeof(idle_rules) / sizeof(idle_rules[0])
};
_Static_assert(2 * IDLE_RULES <= 32, "a bit for each function of a rule");

/* What the table of reasons begins with, from the second one on; the first one is empty. */
static const char *const first_reasons[] = {"GC assist marking", "IO wait"};

struct go_text {
	uint64_t at, length;
};

struct found {
	uint64_t start[GOROUTINES_PLACES];
	uint64_t park_size;
	uint64_t add, add_end; /* runtime.allgadd */
};

static bool is_of_rule(const char *name, const char *rule)
{
	const char *at = rule;

	for (; *at && *at == *name; at++)
		name++;
	return !*at && (!*name || at[-1] == '.');
}

static void find_idle(struct go_waits *waits, const struct go_function *f, const char *name)
{
	for (size_t i = 0; i < IDLE_RULES; i++) {
		bool is_exception = idle_rules[i].unless && !strcmp(name, idle_rules[i].unless);

		if (is_exception || is_of_rule(name, idle_rules[i].function))
			/* without memory it is taken for work */
			(void)!vec_push(
				&waits->idle,
				(struct go_idle_code){f->start, f->end, (uint8_t)i, is_exception});
	}
}

/* False: the image's budget was spent. */
static bool find_functions(struct go_waits *waits, const struct go_table *table,
			   struct budget *budget, struct found *found)
{
	static const struct {
		const char *function;
		enum goroutines_place place;
	} wanted[] = {
		{"runtime.gopark", GOROUTINES_PARK},
		{"runtime.ready", GOROUTINES_READY},
		{"runtime.execute", GOROUTINES_EXECUTE},
		{"runtime.runqput", GOROUTINES_RUNQPUT},
		{"runtime.goschedImpl", GOROUTINES_SCHED},
		{"runtime.preemptPark", GOROUTINES_STOP},
		{"runtime.exitsyscall0", GOROUTINES_SYSCALL},
		{"runtime.exitsyscallNoP", GOROUTINES_SYSCALL}, /* since 1.26 */
		{"runtime.injectglist", GOROUTINES_INJECT},
		{"runtime.goexit0", GOROUTINES_EXIT},
	};
	struct go_table_walk walk = {table, budget, 0};
	struct go_function f;
	const char *name;

	while (go_table_next(&walk, &f, &name)) {
		find_idle(waits, &f, name);
		if (!strcmp(name, "runtime.allgadd")) {
			found->add = f.start;
			found->add_end = f.end;
		}
		for (size_t n = 0; n < sizeof(wanted) / sizeof(wanted[0]); n++) {
			if (strcmp(name, wanted[n].function))
				continue;
			found->start[wanted[n].place] = f.start;
			if (wanted[n].place == GOROUTINES_PARK)
				found->park_size = f.end - f.start;
		}
	}
	return !budget->spent;
}

static bool is_code(const struct elf_image *image, const struct elf_range *range)
{
	for (unsigned int i = 0; i < image->codes; i++)
		if (image->code[i].start == range->start)
			return true;
	return false;
}

/* Whether an address is in what is loaded, and is none of code. */
static bool is_data(const struct elf_image *image, uint64_t address)
{
	for (unsigned int i = 0; i < image->loads; i++)
		if (address - image->load[i].start < image->load[i].end - image->load[i].start)
			return !is_code(image, &image->load[i]) && !(address & 7);
	return false;
}

/*
 * The address that an atomic store is to, at `at`: "lea disp(%rip), %r; xchg %s, (%r)". 0: it is
 * something else.
 */
static uint64_t stored_to(const uint8_t at[10], uint64_t address)
{
	uint8_t lea = at[2], to = (lea >> 3 & 7) | (at[0] & 4 ? 8 : 0);
	uint8_t store = at[9], base = (store & 7) | (at[7] & 1 ? 8 : 0);
	int32_t distance;

	if ((at[0] & 0xfb) != 0x48 || at[1] != 0x8d || (lea & 0xc7) != 5 ||
	    (at[7] & 0xfa) != 0x48 || at[8] != 0x87 || store >> 6 || (store & 7) == 4 ||
	    (store & 7) == 5 || base != to)
		return 0;
	memcpy(&distance, at + 3, sizeof(distance));
	return address + 7 + (uint64_t)(int64_t)distance;
}

/*
 * runtime.allgadd() ends with two atomic stores, of allgptr and of allglen, for those that read the
 * list without its lock. They have been there since Go 1.16.
 */
static void find_all(struct go_waits *waits, const struct elf_image *image,
		     const struct found *found)
{
	uint64_t size = found->add_end - found->add, to[2];
	uint8_t code[ADD_MAX];
	unsigned int stores = 0;

	if (!found->add || size < 10 || size > sizeof(code) ||
	    !elf_image_read(image, found->add, code, size))
		return;
	for (uint64_t at = 0; at + 10 <= size; at++) {
		uint64_t address = stored_to(code + at, found->add + at);

		if (!address || !is_data(image, address))
			continue;
		if (stores == 2)
			return;
		to[stores++] = address;
	}
	if (stores != 2 || to[0] == to[1])
		return;
	waits->all = to[0];
	waits->all_count = to[1];
}

/* The string of the table there. False: it is not one. */
static bool read_text(const struct elf_image *image, const uint8_t *at,
		      char text[GO_REASON_TEXT_MAX])
{
	struct go_text string;

	memcpy(&string, at, sizeof(string));
	if (!string.length || string.length >= GO_REASON_TEXT_MAX ||
	    !elf_image_read(image, string.at, text, string.length))
		return false;
	text[string.length] = 0;
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return strlen(text) == string.length;
}

/* Whether the table begins there. Only what has the right lengths is read. */
static bool is_table(const struct elf_image *image, const uint8_t *at)
{
	char text[GO_REASON_TEXT_MAX];
	struct go_text string;

	memcpy(&string, at, sizeof(string));
	if (string.length)
		return false;
	for (size_t i = 0; i < sizeof(first_reasons) / sizeof(first_reasons[0]); i++) {
		memcpy(&string, at + (i + 1) * sizeof(string), sizeof(string));
		if (string.length != strlen(first_reasons[i]))
			return false;
	}
	for (size_t i = 0; i < sizeof(first_reasons) / sizeof(first_reasons[0]); i++)
		if (!read_text(image, at + (i + 1) * sizeof(string), text) ||
		    strcmp(text, first_reasons[i]))
			return false;
	return true;
}

static void read_table(struct go_waits *waits, const struct elf_image *image, const uint8_t *at,
		       size_t size)
{
	const size_t step = sizeof(struct go_text);

	waits->reason_count = 1;
	for (size_t i = 1; i < GO_REASONS_MAX && (i + 1) * step <= size; i++) {
		if (!read_text(image, at + i * step, waits->reasons[i]))
			break;
		waits->reason_count = i + 1;
	}
}

static bool find_table(struct go_waits *waits, struct elf_image *image,
		       const struct elf_range *range)
{
	const size_t least =
		(sizeof(first_reasons) / sizeof(first_reasons[0]) + 1) * sizeof(struct go_text);
	uint64_t size = range->in_file < DATA_MAX ? range->in_file : DATA_MAX;
	unsigned int owns = image->owns;
	struct elf_part data;

	if (size < least || elf_image_load(image, range->start, size, &data))
		return false;
	for (size_t at = -range->start & 7; at + least <= data.size; at += 8) {
		if (!is_table(image, data.at + at))
			continue;
		read_table(waits, image, data.at + at, data.size - at);
		break;
	}
	elf_image_disown(image, owns);
	return waits->reason_count;
}

/* It lies in the data, which mostly comes last. */
static void find_reasons(struct go_waits *waits, struct elf_image *image)
{
	for (unsigned int i = image->loads; i-- > 0;)
		if (!is_code(image, &image->load[i]) && find_table(waits, image, &image->load[i]))
			return;
}

static int learn(struct go_waits *waits, struct elf_image *image, struct fail *why)
{
	const struct go_records *records;
	struct found found = {0};
	struct go_table table;
	int err = go_table_open(&table, image);

	if (err)
		return err;
	records = go_records_of(table.minor);
	if (!records)
		return fail(why, -ENOTSUP, NULL, "the records of Go 1.%u are not known",
			    table.minor);
	if (!find_functions(waits, &table, &image->budget, &found))
		return budget_refuse(&image->budget, why, "the table of Go's functions");
	for (int n = 0; n < GOROUTINES_PLACES; n++) {
		uint64_t at = go_place_behind_border(image, found.start[n]);

		if (found.start[n] && elf_image_code_offset(image, at, &waits->places[n]))
			continue;
		waits->places[n] = 0;
		if (n < GOROUTINES_PLACES_OF_WAITS)
			return fail(why, -ENOTSUP, NULL,
				    "Go's gopark, ready or execute was not found");
	}
	waits->image = (struct goroutines_image){
		.goid = records->goid,
		.reason = records->goid + GO_GOID_REASON,
		.sp = GO_G_SCHED,
		.pc = GO_G_SCHED + GO_SCHED_PC,
		.fp = GO_G_SCHED + records->sched_bp,
		.curg = records->curg,
		.park_at =
			(int64_t)(found.start[GOROUTINES_PARK] -
				  go_place_behind_border(image, found.start[GOROUTINES_EXECUTE])),
		.park_size = found.park_size,
	};
	find_all(waits, image, &found);
	find_reasons(waits, image);
	return 0;
}

int go_waits_of(struct go_waits *waits, const struct image *image, struct fail *why)
{
	struct elf_image elf;
	int err = elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, why);

	memset(waits, 0, sizeof(*waits));
	if (!err)
		err = elf.go_pclntab.in_file || elf.go_buildinfo.in_file ? learn(waits, &elf, why)
									 : -ENOENT;
	elf_image_close(&elf);
	if (err)
		go_waits_free(waits);
	return err;
}

void go_waits_free(struct go_waits *waits)
{
	vec_free(&waits->idle);
}

const char *go_waits_reason(const struct go_waits *waits, uint8_t number)
{
	return number < waits->reason_count ? waits->reasons[number] : "";
}

uint32_t go_waits_code(const struct go_waits *waits, uint64_t address)
{
	uint32_t code = 0;

	vec_foreach (&waits->idle, idle)
		if (address - idle->start < idle->end - idle->start)
			code |= 1u << (2 * idle->rule + idle->is_exception);
	return code;
}

bool go_waits_is_idle(uint32_t code)
{
	for (uint32_t i = 0; i < IDLE_RULES; i++)
		if ((code >> (2 * i) & 3) == 1)
			return true;
	return false;
}
