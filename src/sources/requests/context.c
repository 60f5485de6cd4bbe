// SPDX-License-Identifier: Apache-2.0
#include "sources/requests/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "arch/elf.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/requests/abi.h"
#include "elf/file.h"
#include "process/remote.h"

enum {
	FILES_MAX = 16384,    /* whose symbols were looked at; others are not */
	SYMBOLS_MAX = 200000, /* of a file */
	RELOCATIONS_MAX = 1000000,
	PENDING_MAX = 4096,
	TRIES_MAX = 60, /* seconds in which the dynamic linker should have come so far */
	MODULES_MAX = 1 << 16,
};

/* How a file's code comes to the variable. */
enum model {
	MODEL_NONE,
	MODEL_PROGRAM,	  /* a fixed place, which the program's linker knew (local exec) */
	MODEL_OFFSET,	  /* a word has its place (initial exec, R_X86_64_TPOFF64) */
	MODEL_DESCRIPTOR, /* two words, of which the second has the place, or leads to
			     module and offset (ARCH_RELOCATION_TLS_DESCRIPTOR) */
	MODEL_MODULE,	  /* a word has the module (R_X86_64_DTPMOD64) */
};

/* What is known of a file; all zero: it has no such variable. */
struct context_file {
	enum model model;
	uint8_t layout;
	int64_t offset; /* MODEL_PROGRAM, MODEL_MODULE */
	uint64_t slot;	/* address in the image: of the words */
};

struct pending {
	pid_t pid;
	unsigned int tries;
	dev_t device;
	ino_t inode;
	struct context_file file;
};

struct requests_contexts {
	int map;
	struct map by_file; /* place in files, and 1; 0: it has none */
	vec(struct context_file) files;
	vec(struct pending) pending;
	struct map known; /* processes in the kernel's map */
	uint64_t refused;
};

/* What the records are like, by their variable. */
static const struct {
	const char *symbol;
	uint8_t trace_at, span_at, valid_at;
} layouts[] = {
	{"otel_thread_ctx_v1", 0, 16, 24},
	/* github.com/elastic/apm, specs/agents/universal-profiling-integration.md */
	{"elastic_apm_profiling_correlation_tls_v1", 5, 21, 2},
};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

struct requests_contexts *requests_contexts_new(int map)
{
	struct requests_contexts *contexts = calloc(1, sizeof(*contexts));

	if (contexts)
		contexts->map = map;
	return contexts;
}

void requests_contexts_free(struct requests_contexts *contexts)
{
	if (!contexts)
		return;
	map_free(&contexts->by_file);
	map_free(&contexts->known);
	vec_free(&contexts->files);
	vec_free(&contexts->pending);
	free(contexts);
}

/* -- files ------------------------------------------------------------------------------------- */

struct look {
	uint32_t number, layout; /* of the symbol: it is the number-th */
	Elf64_Sym symbol;
	bool is_found;
};

static bool take_symbol(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct look *look = context;

	if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS && symbol->st_shndx) {
		const char *name = elf_strings_get(names, symbol->st_name);

		for (uint32_t i = 0; i < LAYOUTS && !look->is_found; i++)
			if (!strcmp(name, layouts[i].symbol)) {
				look->is_found = true;
				look->layout = i;
				look->symbol = *symbol;
			}
	}
	look->number += !look->is_found;
	return !look->is_found;
}

static bool find_segment(const struct elf_file *file, Elf64_Phdr *tls)
{
	for (uint32_t i = 0; i < file->segment_count; i++)
		if (elf_file_segment(file, i, tls) && tls->p_type == PT_TLS)
			return true;
	return false;
}

static void take_relocation(const Elf64_Rela *relocation, struct context_file *found)
{
	switch (ELF64_R_TYPE(relocation->r_info)) {
	case ARCH_RELOCATION_TLS_OFFSET:
		found->model = MODEL_OFFSET;
		break;
	case ARCH_RELOCATION_TLS_DESCRIPTOR:
		found->model = MODEL_DESCRIPTOR;
		break;
	case ARCH_RELOCATION_TLS_MODULE:
		found->model = MODEL_MODULE;
		break;
	default:
		return;
	}
	found->slot = relocation->r_offset;
}

/* Those of the symbol alone: any of them leads to it. */
static void find_relocation(const struct elf_file *file, uint32_t symbol,
			    struct context_file *found)
{
	struct elf_walk *walk = malloc(sizeof(*walk));
	uint64_t left = RELOCATIONS_MAX;
	Elf64_Rela relocation;

	for (uint32_t i = 0; walk && i < file->section_count && !found->model; i++) {
		if (file->sections[i].type != SHT_RELA)
			continue;
		elf_walk_begin(walk, file, &file->sections[i]);
		while (!found->model && left-- && elf_walk_relocation(walk, &relocation))
			if (ELF64_R_SYM(relocation.r_info) == symbol)
				take_relocation(&relocation, found);
	}
	free(walk);
}

/* As ld.so and the program's linker lay out what stands in front of the thread pointer. */
static int64_t offset_in_program(const Elf64_Phdr *tls, uint64_t value)
{
	uint64_t align = tls->p_align && !(tls->p_align & (tls->p_align - 1)) ? tls->p_align : 1;
	uint64_t size = (tls->p_memsz + align - 1) & ~(align - 1);

	return (int64_t)(value - size);
}

static void look_at(const struct image *image, struct context_file *found)
{
	struct look look = {0};
	struct elf_file file;
	Elf64_Phdr tls;

	if (image->fd < 0 || elf_file_open(&file, image->fd))
		return;
	/* few files have such storage, and the symbols of those alone are read */
	if (file.is_64 && file.machine == ARCH_ELF_MACHINE && find_segment(&file, &tls))
		elf_each_symbol(&file, SHT_DYNSYM, SYMBOLS_MAX, take_symbol, &look);
	if (look.is_found && look.symbol.st_size == sizeof(uint64_t)) {
		found->layout = (uint8_t)look.layout;
		find_relocation(&file, look.number, found);
		found->offset = (int64_t)look.symbol.st_value;
		if (!found->model) {
			found->model = MODEL_PROGRAM;
			found->offset = offset_in_program(&tls, look.symbol.st_value);
		}
	}
	elf_file_close(&file);
}

/* Null: it has no such variable, or there is no room. */
static const struct context_file *file_of(struct requests_contexts *contexts,
					  const struct image *image)
{
	uint64_t key = hash_u64(image->device ^ hash_u64(image->inode));
	const uint64_t *known = map_get(&contexts->by_file, key);
	struct context_file found = {0};

	if (known)
		return *known ? &contexts->files.at[*known - 1] : NULL;
	if (contexts->by_file.count >= FILES_MAX)
		return NULL;
	look_at(image, &found);
	if (found.model && !vec_push(&contexts->files, found))
		found.model = MODEL_NONE;
	map_put(&contexts->by_file, key, found.model ? contexts->files.count : 0);
	return found.model ? vec_last(&contexts->files) : NULL;
}

/* -- processes --------------------------------------------------------------------------------- */

static void publish(struct requests_contexts *contexts, pid_t pid, const struct context_file *file,
		    uint32_t module, int64_t offset)
{
	const struct requests_context where = {
		.offset = offset,
		.module = module,
		.trace_at = layouts[file->layout].trace_at,
		.span_at = layouts[file->layout].span_at,
		.valid_at = layouts[file->layout].valid_at,
	};
	uint32_t key = (uint32_t)pid;

	if (bpf_map_update_elem(contexts->map, &key, &where, BPF_ANY) ||
	    !map_put(&contexts->known, key, 1))
		contexts->refused++;
}

/* 0; -EAGAIN: what the dynamic linker has to fill in is not there. */
static int read_slot(struct requests_contexts *contexts, const struct pending *p, uint64_t at)
{
	int64_t words[2] = {0};
	bool is_pair = p->file.model == MODEL_DESCRIPTOR;

	if (remote_read(p->pid, words, is_pair ? 16 : 8, at) || !words[is_pair])
		return -EAGAIN;
	switch (p->file.model) {
	case MODEL_OFFSET:
		publish(contexts, p->pid, &p->file, 0, words[0]);
		return 0;
	case MODEL_DESCRIPTOR:
		if (words[1] < 0) {
			publish(contexts, p->pid, &p->file, 0, words[1]);
			return 0;
		}
		if (remote_read(p->pid, words, 16, (uint64_t)words[1]))
			return -EAGAIN;
		break;
	default:
		words[1] = p->file.offset;
		break;
	}
	if (words[0] <= 0 || words[0] >= MODULES_MAX)
		return -EAGAIN;
	publish(contexts, p->pid, &p->file, (uint32_t)words[0], words[1]);
	return 0;
}

static int resolve(struct requests_contexts *contexts, const struct pending *p,
		   const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];

		if (mapping->image->device == p->device && mapping->image->inode == p->inode)
			return read_slot(contexts, p, mapping->bias + p->file.slot);
	}
	return -EAGAIN;
}

void requests_contexts_meet(struct requests_contexts *contexts, pid_t pid,
			    const struct image *image)
{
	const struct context_file *file =
		image->kind == IMAGE_FILE ? file_of(contexts, image) : NULL;
	struct pending pending = {.pid = pid, .device = image->device, .inode = image->inode};

	if (!file)
		return;
	if (file->model == MODEL_PROGRAM) {
		publish(contexts, pid, file, 0, file->offset);
		return;
	}
	pending.file = *file;
	if (contexts->pending.count >= PENDING_MAX || !vec_push(&contexts->pending, pending))
		contexts->refused++;
}

void requests_contexts_tick(struct requests_contexts *contexts,
			    const struct process *(*find)(void *context, pid_t pid), void *context)
{
	size_t left = 0;

	for (size_t i = 0; i < contexts->pending.count; i++) {
		struct pending *p = &contexts->pending.at[i];
		const struct process *process = find(context, p->pid);

		if (!process || process->end || !resolve(contexts, p, process))
			continue;
		if (++p->tries < TRIES_MAX)
			contexts->pending.at[left++] = *p;
		else
			contexts->refused++;
	}
	contexts->pending.count = left;
}

void requests_contexts_ended(struct requests_contexts *contexts, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	size_t left = 0;

	for (size_t i = 0; i < contexts->pending.count; i++)
		if (contexts->pending.at[i].pid != pid)
			contexts->pending.at[left++] = contexts->pending.at[i];
	contexts->pending.count = left;
	if (!map_get(&contexts->known, key))
		return;
	map_remove(&contexts->known, key);
	bpf_map_delete_elem(contexts->map, &key);
}

uint64_t requests_contexts_refused(const struct requests_contexts *contexts)
{
	return contexts->refused;
}
