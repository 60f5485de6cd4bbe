// SPDX-License-Identifier: Apache-2.0
#include "symbol/cubin/cubin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/search.h"
#include "symbol/cubin/sass.h"

#define TEXT_PREFIX ".text."

/* Libraries of kernels have some ten thousand; a cubin has seldom more than some hundred. */
#define FUNCTIONS_MAX (1u << 18)

/* Bytes of a name: those of templates have some thousands. Longer ones are left out. */
#define NAME_MAX_BYTES (16u << 10)
/* Names of one place are compared as far as this, to be in an order. */
#define NAME_COMPARED 256

/* Where e_flags has the architecture: toolkits before and from 13 on (ELF ABI versions 7 and 8). */
#define FLAGS_OFFSET	  48
#define ABI_VERSION_WIDE  8
#define ARCHITECTURE_MASK 0xff

const char *cubin_string(const struct cubin *cubin, const struct elf_section *section,
			 uint64_t offset)
{
	const char *strings = (const char *)cubin->file.memory + section->offset;

	/* a table of strings ends with a zero byte: so no string has to be walked */
	if (section->type == SHT_NOBITS || offset >= section->size || strings[section->size - 1])
		return NULL;
	return strings + offset;
}

/* -- sections of code -------------------------------------------------------------------------- */

static uint64_t hash_name(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static int add_text(struct cubin *cubin, uint32_t number)
{
	const struct elf_section *section = &cubin->file.sections[number];
	const char *name = elf_file_section_name(&cubin->file, section);
	const struct cubin_text *last = cubin->texts.count ? vec_last(&cubin->texts) : NULL;
	struct cubin_text text = {
		/* never at the end of the one before, which the row that ends its lines has */
		.address = last ? (last->address + last->size + 128) & ~UINT64_C(127)
				: CUBIN_FIRST_ADDRESS,
		.size = section->size,
		.section = number,
	};

	if (section->type != SHT_PROGBITS || !(section->flags & SHF_EXECINSTR) || !section->size ||
	    strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return 0;
	/* those of a hostile file may lie over each other */
	cubin->code_bytes += text.size;
	if (cubin->code_bytes > cubin->file.size)
		return -E2BIG;
	text.code = cubin->file.memory + section->offset;
	text.name =
		strncmp(name, TEXT_PREFIX, strlen(TEXT_PREFIX)) ? name : name + strlen(TEXT_PREFIX);
	if (!map_get(&cubin->by_name, hash_name(text.name)) &&
	    !map_put(&cubin->by_name, hash_name(text.name), cubin->texts.count))
		return -ENOMEM;
	if (!map_put(&cubin->by_section, number, cubin->texts.count) ||
	    !vec_push(&cubin->texts, text))
		return -ENOMEM;
	return 0;
}

static void make_build_id(struct cubin *cubin)
{
	uint64_t hash = cubin->architecture;

	vec_foreach (&cubin->texts, text) {
		hash = hash_u64(hash ^ hash_name(text->name)) + text->size;
		hash = hash_u64(hash ^ hash_bytes(text->code, text->size));
	}
	for (size_t i = 0; i < CUBIN_BUILD_ID; i++)
		cubin->build_id[i] = (uint8_t)(hash >> (56 - 8 * i));
}

/* -- functions --------------------------------------------------------------------------------- */

struct symbols_read {
	struct cubin *cubin;
	const struct elf_section *names;
	int err;
};

static bool add_function(void *context, const Elf64_Sym *symbol, struct elf_strings *names)
{
	struct symbols_read *read = context;
	struct cubin *cubin = read->cubin;
	uint64_t *text = map_get(&cubin->by_section, symbol->st_shndx);
	struct cubin_function function = {.text = text ? (uint32_t)*text : 0};
	const struct cubin_text *in = text ? &cubin->texts.at[*text] : NULL;

	(void)names;
	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !in || symbol->st_value >= in->size)
		return true;
	function.name = cubin_string(cubin, read->names, symbol->st_name);
	if (!function.name || !function.name[0] ||
	    strnlen(function.name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return true;
	function.start = in->address + symbol->st_value;
	function.end = symbol->st_size && symbol->st_size < in->size - symbol->st_value
			       ? function.start + symbol->st_size
			       : in->address + in->size;
	if (!vec_push(&cubin->functions, function))
		read->err = -ENOMEM;
	return !read->err;
}

static int compare_functions(const void *a, const void *b)
{
	const struct cubin_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return strncmp(x->name, y->name, NAME_COMPARED);
}

static int read_functions(struct cubin *cubin)
{
	const struct elf_section *table = elf_file_section_of_type(&cubin->file, SHT_SYMTAB);
	struct symbols_read read = {.cubin = cubin};
	int err;

	if (!table || table->link >= cubin->file.section_count)
		return 0;
	read.names = &cubin->file.sections[table->link];
	err = elf_each_symbol(&cubin->file, SHT_SYMTAB, FUNCTIONS_MAX, add_function, &read);
	if (cubin->functions.count)
		qsort(cubin->functions.at, cubin->functions.count, sizeof(*cubin->functions.at),
		      compare_functions);
	return err ? err : read.err;
}

/* -- the file ---------------------------------------------------------------------------------- */

static void read_architecture(struct cubin *cubin)
{
	const uint8_t *memory = cubin->file.memory;
	uint32_t flags;

	memcpy(&flags, memory + FLAGS_OFFSET, sizeof(flags));
	if (memory[EI_ABIVERSION] >= ABI_VERSION_WIDE)
		flags >>= 8;
	cubin->architecture = flags & ARCHITECTURE_MASK;
}

int cubin_open(struct cubin *cubin, const void *memory, size_t size)
{
	int err;

	*cubin = (struct cubin){0};
	if (size > CUBIN_BYTES_MAX)
		return -E2BIG;
	err = elf_file_open_memory(&cubin->file, memory, size);
	if (err) {
		*cubin = (struct cubin){0};
		return err;
	}
	read_architecture(cubin);
	if (cubin->file.machine != CUBIN_MACHINE || !cubin->file.is_64)
		err = -ENOEXEC;
	else if (cubin->architecture < 70)
		err = -ENOTSUP;
	for (uint32_t i = 0; i < cubin->file.section_count && !err; i++)
		err = add_text(cubin, i);
	if (!err)
		err = read_functions(cubin);
	if (err) {
		cubin_close(cubin);
		return err;
	}
	make_build_id(cubin);
	return 0;
}

void cubin_close(struct cubin *cubin)
{
	elf_file_close(&cubin->file);
	vec_free(&cubin->texts);
	vec_free(&cubin->functions);
	map_free(&cubin->by_name);
	map_free(&cubin->by_section);
}

/* -- questions --------------------------------------------------------------------------------- */

uint64_t cubin_address(const struct cubin *cubin, const char *name, uint64_t offset)
{
	uint64_t *index = map_get(&cubin->by_name, hash_name(name));
	const struct cubin_text *text = index ? &cubin->texts.at[*index] : NULL;

	if (!text || strcmp(text->name, name) != 0 || offset >= text->size)
		return 0;
	return text->address + offset;
}

const struct cubin_text *cubin_text_of(const struct cubin *cubin, uint64_t address)
{
	size_t next = search_first(cubin->texts.count, i, cubin->texts.at[i].address <= address);
	const struct cubin_text *text = next ? &cubin->texts.at[next - 1] : NULL;

	return text && address - text->address < text->size ? text : NULL;
}

/* The first function that begins behind an address. */
static size_t next_function(const struct cubin *cubin, uint64_t address)
{
	return search_first(cubin->functions.count, i, cubin->functions.at[i].start <= address);
}

const struct cubin_function *cubin_function_of(const struct cubin *cubin, uint64_t address)
{
	const struct cubin_text *text = cubin_text_of(cubin, address);
	const struct cubin_function *function;
	size_t next = next_function(cubin, address);

	if (!text || !next)
		return NULL;
	function = &cubin->functions.at[next - 1];
	if (function->start >= text->address && address < function->end)
		return function;
	/* behind a device function: the section is its own function's */
	next = next_function(cubin, text->address);
	function = next ? &cubin->functions.at[next - 1] : NULL;
	return function && function->start == text->address && address < function->end ? function
										       : NULL;
}

const char *cubin_source_name(const struct cubin *cubin, const struct cubin_function *function,
			      bool *is_kernel)
{
	const struct cubin_text *text = &cubin->texts.at[function->text];
	const char *name = function->name, *end;
	size_t length = strlen(text->name);

	if (is_kernel)
		*is_kernel = !strcmp(name, text->name);
	if (name[0] != '$')
		return name;
	/* "$KERNEL$FUNCTION", or "$__internal_0_$FUNCTION" */
	if (!strncmp(name + 1, text->name, length) && name[1 + length] == '$')
		end = name + 1 + length;
	else
		end = strchr(name + 1, '$');
	return end && end[1] ? end + 1 : name;
}

const char *cubin_mnemonic(const struct cubin *cubin, uint64_t address)
{
	const struct cubin_text *text = cubin_text_of(cubin, address);
	uint64_t offset = text ? address - text->address : 0, head;

	if (!text || offset % CUBIN_INSTRUCTION || text->size - offset < CUBIN_INSTRUCTION)
		return NULL;
	memcpy(&head, text->code + offset, sizeof(head));
	return sass_mnemonic(head, cubin->architecture);
}

/*
 * .note.nv.tkinfo, since toolkit 13: a version, and the places of five strings behind them: of
 * what it was made from, the compiler, its version, its build and its options.
 */
enum {
	TOOLKIT_COMPILER = 1,
	TOOLKIT_VERSION,
	TOOLKIT_BUILD,
	TOOLKIT_OPTIONS,
	TOOLKIT_STRINGS,
};

static bool read_toolkit(const struct cubin *cubin, const char *strings[TOOLKIT_STRINGS])
{
	const struct elf_section *note = elf_file_section(&cubin->file, ".note.nv.tkinfo");
	struct bytes in = {0};
	uint32_t name, size, at[TOOLKIT_STRINGS];

	if (!note || note->type == SHT_NOBITS)
		return false;
	in.at = cubin->file.memory + note->offset;
	in.end = in.at + note->size;
	name = bytes_u32(&in);
	size = bytes_u32(&in);
	bytes_u32(&in); /* type of the note */
	if (!bytes_read(&in, (name + UINT64_C(3)) & ~UINT64_C(3)) || bytes_left(&in) < size)
		return false;
	in.end = in.at + size;
	bytes_u32(&in);
	for (size_t i = 0; i < TOOLKIT_STRINGS; i++)
		at[i] = bytes_u32(&in);
	for (size_t i = 0; i < TOOLKIT_STRINGS && !in.failed; i++) {
		size_t left = bytes_left(&in);

		if (at[i] >= left || !memchr(in.at + at[i], 0, left - at[i]))
			return false;
		strings[i] = (const char *)in.at + at[i];
	}
	return !in.failed;
}

void cubin_how_to_get_lines(const struct cubin *cubin, char *to, size_t size)
{
	const char *strings[TOOLKIT_STRINGS];

	if (read_toolkit(cubin, strings))
		snprintf(to, size,
			 "compile it with -lineinfo: %.40s (%.80s) made it with the options %.200s",
			 strings[TOOLKIT_COMPILER], strings[TOOLKIT_VERSION],
			 strings[TOOLKIT_OPTIONS]);
	else
		snprintf(to, size,
			 "compile it with -lineinfo (nvcc, ptxas), or with line information in the "
			 "PTX that the driver compiles");
}
