// SPDX-License-Identifier: Apache-2.0
/*
 * Go. Its code is native: rules and names come from the program's own table (src/unwind/go_rules.c,
 * src/symbol/go_symbols.c). The kernel side (src/bpf/runtime/go/go.h) learns here where a walk
 * goes on when the runtime has changed stacks, and where the labels of goroutines are.
 *
 * Where things are in the runtime's records of threads (m) and goroutines (g) is in go/records.c. A
 * version that is not known is refused. Labels are in Go's source in runtime/pprof/label.go.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "bpf/runtime/go/abi.h"
#include "runtime/go/records.h"
#include "runtime/go/roles.h"
#include "runtime/runtime.h"
#include "unwind/go_pclntab.h"

/* The last version in which systemstack() and asmcgocall() have no frame. */
#define FRAMELESS 20

struct go_facts {
	struct go_data data;  /* addresses are virtual ones of the image */
	uint64_t tls_pointer; /* the distance is not in the code, but here; 0: it is data.tls */
};

static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo",
				       NULL};

/*
 * Finds in the code of systemstack() how a thread finds its g: relative to fs, the thread pointer.
 * The distance is in that instruction, in the one before, or, in a library, loaded from a table.
 */
static bool find_tls(struct go_facts *facts, const struct elf_image *image,
		     const struct go_range *range)
{
	uint64_t size = range->end - range->start;
	uint8_t code[256] = {0};
	int32_t distance;

	if (size > sizeof(code) - 8)
		size = sizeof(code) - 8;
	if (!elf_image_read(image, range->start, code, size))
		return false;
	for (const uint8_t *c = code; c < code + size; c++) {
		memcpy(&distance, c + 5, 4);
		/* mov %fs:distance, register */
		if (c[0] == 0x64 && (c[1] & 0xfb) == 0x48 && c[2] == 0x8b &&
		    (c[3] & 0xc7) == 0x04 && c[4] == 0x25) {
			facts->data.tls = distance;
			return true;
		}
		memcpy(&distance, c + 3, 4);
		/* mov $distance, register; mov %fs:(register), … */
		if ((c[0] & 0xfe) == 0x48 && c[1] == 0xc7 && (c[2] & 0xf8) == 0xc0 &&
		    c[7] == 0x64) {
			facts->data.tls = distance;
			return true;
		}
		/* mov table(%rip), register; mov %fs:(register), … */
		if ((c[0] & 0xfb) == 0x48 && c[1] == 0x8b && (c[2] & 0xc7) == 0x05 &&
		    c[7] == 0x64) {
			facts->tls_pointer = range->start + (uint64_t)(c - code) + 7 +
					     (uint64_t)(int64_t)distance;
			return true;
		}
	}
	return false;
}

static bool is_named(const char *name, const char *function)
{
	size_t length = strlen(function);

	/* up to 1.20, assembler code has the name of its calling convention behind its own */
	return !strncmp(name, function, length) &&
	       (!name[length] || !strcmp(name + length, ".abi0"));
}

/* False: the image's budget was spent. */
static bool find_functions(struct go_data *d, const struct go_table *table, struct budget *budget,
			   bool *has_labels)
{
	const struct {
		const char *name;
		struct go_range *range;
	} wanted[] = {
		{"runtime.systemstack", &d->systemstack},
		{"runtime.asmcgocall", &d->asmcgocall},
		{"runtime.morestack", &d->morestack},
		{"runtime.goexit", &d->goexit},
	};
	struct go_table_walk walk = {table, budget, 0};
	struct go_function f;
	const char *name;

	d->all.start = UINT64_MAX;
	while (go_table_next(&walk, &f, &name)) {
		if (strncmp(name, "runtime", 7))
			continue;
		*has_labels |= !strcmp(name, "runtime/pprof.runtime_setProfLabel");
		for (size_t n = 0; n < sizeof(wanted) / sizeof(*wanted); n++) {
			/* others of the same name only change the calling convention */
			if (!is_named(name, wanted[n].name) ||
			    !(f.flags & (GO_SP_WRITE | GO_TOP_FRAME)))
				continue;
			*wanted[n].range = (struct go_range){f.start, f.end};
			if (f.start < d->all.start)
				d->all.start = f.start;
			if (f.end > d->all.end)
				d->all.end = f.end;
		}
	}
	return !budget->spent;
}

static int learn(struct go_facts *facts, struct elf_image *image, struct fail *why)
{
	const struct go_records *records;
	struct go_data *d = &facts->data;
	bool has_labels = false;
	struct go_table table;
	int err = go_table_open(&table, image);

	if (err == -ENOENT)
		return err;
	if (err)
		return fail(why, err, NULL,
			    "the table of Go's functions is unlike any that is known");
	records = go_records_of(table.minor);
	if (!records)
		return fail(why, -ENOTSUP, NULL, "the records of Go 1.%u are not known",
			    table.minor);
	if (!find_functions(d, &table, &image->budget, &has_labels))
		return budget_refuse(&image->budget, why, "the table of Go's functions");
	if (!d->systemstack.end || !d->goexit.end)
		return fail(why, -ENOTSUP, NULL, "Go's systemstack or goexit was not found");
	if (!find_tls(facts, image, &d->systemstack))
		return fail(why, -ENOTSUP, NULL, "it is not known where threads keep their g");
	d->g_m = GO_G_M;
	d->g_sp = GO_G_SCHED;
	d->g_pc = GO_G_SCHED + GO_SCHED_PC;
	d->g_bp = GO_G_SCHED + records->sched_bp;
	d->g_labels = records->labels;
	d->m_curg = records->curg;
	d->labels = has_labels ? records->kind : 0;
	d->frameless = table.minor <= FRAMELESS;
	return 0;
}

static void *go_open(const struct image *image, struct budget *budget, struct fail *why)
{
	struct go_facts *facts = calloc(1, sizeof(*facts));
	struct elf_image elf;
	struct fail words;
	int err;

	(void)budget; /* the ELF file has its own */
	if (!facts)
		return NULL;
	err = elf_image_open_bare(&elf, image->fd, image->memory, image->memory_size, &words);
	if (!err)
		err = learn(facts, &elf, why);
	elf_image_close(&elf);
	if (!err)
		return facts;
	free(facts);
	return NULL;
}

static void go_close(void *facts)
{
	free(facts);
}

static int go_attach(const struct runtime_at *at, void *to, void **state, struct fail *why)
{
	const struct go_facts *facts = at->facts;
	struct go_data *d = to;
	struct go_range *const ranges[] = {&d->all, &d->systemstack, &d->asmcgocall, &d->morestack,
					   &d->goexit};
	uint64_t distance;

	*state = NULL;
	*d = facts->data;
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++) {
		if (!ranges[i]->end)
			continue;
		ranges[i]->start = runtime_address(at, ranges[i]->start);
		ranges[i]->end = runtime_address(at, ranges[i]->end);
	}
	if (facts->tls_pointer) {
		if (runtime_read_u64(at, &distance, runtime_address(at, facts->tls_pointer)))
			return fail(why, -EFAULT, NULL, "memory of the process could not be read");
		if (!distance) /* not relocated yet */
			return -EAGAIN;
		d->tls = (int64_t)distance;
	}
	return 0;
}

struct pair {
	const char *key, *value;
	uint32_t key_length, value_length;
};

static int by_key(const void *a, const void *b)
{
	const struct pair *l = a, *r = b;

	return strcmp(l->key, r->key);
}

static void put_text(struct buf *to, const char *text, uint32_t length)
{
	buf_put_text(to, text);
	if (length > GO_TEXT_MAX)
		buf_put_text(to, "…");
}

/* "key=value,key2=value2", in the order of keys. */
static int go_name(const struct runtime_at *at, void *state, const uint64_t words[2],
		   struct runtime_names *names)
{
	struct pair pairs[GO_LABELS_MAX];
	struct buf text = {0};
	struct go_kept kept;
	size_t count, i;

	(void)state;
	(void)words;
	if (!at->kept)
		return -ENOENT;
	memcpy(&kept, at->kept, sizeof(kept));
	count = kept.count < GO_LABELS_MAX ? kept.count : GO_LABELS_MAX;
	for (i = 0; i < 2 * count; i++)
		kept.text[i][GO_TEXT_MAX] = 0;
	for (i = 0; i < count; i++)
		pairs[i] = (struct pair){
			.key = (const char *)kept.text[2 * i],
			.value = (const char *)kept.text[2 * i + 1],
			.key_length = kept.length[2 * i],
			.value_length = kept.length[2 * i + 1],
		};
	qsort(pairs, count, sizeof(*pairs), by_key);
	for (i = 0; i < count; i++) {
		buf_put_text(&text, i ? "," : "");
		put_text(&text, pairs[i].key, pairs[i].key_length);
		buf_put_u8(&text, '=');
		put_text(&text, pairs[i].value, pairs[i].value_length);
	}
	buf_put_text(&text, kept.count > count ? ",…" : "");
	buf_put_u8(&text, 0);
	if (!text.failed && count)
		runtime_names_add(names, (const char *)text.at, NULL, 0);
	buf_free(&text);
	return 0;
}

_Static_assert(sizeof(struct go_kept) <= UNWIND_KEPT_BYTES, "room for labels");

const struct runtime_type runtime_go = {
	.name = "go",
	.id = UNWIND_RUNTIME_GO,
	.frame_kind = FILM_FRAME_LABEL,
	.steps_in_image = true,
	.keeps = true,
	.sections = sections,
	.open = go_open,
	.close = go_close,
	.attach = go_attach,
	.name_of = go_name,
	.roles = go_roles,
};
