// SPDX-License-Identifier: Apache-2.0
/*
 * Symbols of programs are removed at random. What still has a name has the one that the whole table
 * gives it, never a neighbour's. The programs are the arguments; --seed=N is the first of them if
 * others than those of the test are to be removed.
 */
#include "../prelude.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "elf/file.h"
#include "symbol/symbols.h"
#include "unwind/starts.h"

#define ASKED_MAX 20000u

struct known {
	uint64_t start, end;
	char *name; /* as it is shown; null: no name, but a border */
	Elf64_Sym *in_file;
};

struct program {
	const char *path;
	uint8_t *at, *pristine;
	size_t size;
	struct elf_file file;
	vec(struct known) symbols; /* by their start */
	uint64_t *addresses, *starts;
	const char **got;
	size_t count;
};

static unsigned int seed = 1;
static int program_count;
static char **paths;

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static int by_start(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static void add_table(struct program *p, uint32_t type)
{
	const struct elf_section *table = elf_file_section_of_type(&p->file, type), *names, *code;

	if (!table)
		return;
	names = &p->file.sections[table->link];
	for (uint64_t i = 0; i < table->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym *s = (Elf64_Sym *)(void *)(p->at + table->offset) + i;
		const char *name = (const char *)p->at + names->offset + s->st_name;
		struct known known = {s->st_value, s->st_value + s->st_size, NULL, s};
		char bare[4096];
		int kind = ELF64_ST_TYPE(s->st_info);

		code = elf_file_code_of(&p->file, s);
		if (!code || (kind > STT_FUNC && kind != STT_GNU_IFUNC))
			continue;
		snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(name, "@"), name);
		known.name = symbol_demangle(bare);
		assert_true(known.name && vec_push(&p->symbols, known));
	}
}

static void open_program(struct program *p, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);

	*p = (struct program){.path = path, .size = (size_t)size};
	assert_true(fd >= 0 && size > 0);
	p->at = malloc(p->size);
	p->pristine = malloc(p->size);
	assert_true(p->at && p->pristine && file_read_at(fd, 0, p->at, p->size));
	memcpy(p->pristine, p->at, p->size);
	close(fd);
	assert_int_equal(elf_file_open_memory(&p->file, p->at, p->size), 0);
	add_table(p, SHT_SYMTAB);
	add_table(p, SHT_DYNSYM);
	if (p->symbols.count)
		qsort(p->symbols.at, p->symbols.count, sizeof(*p->symbols.at), by_start);
}

static void close_program(struct program *p)
{
	vec_foreach (&p->symbols, known)
		free(known->name);
	vec_free(&p->symbols);
	elf_file_close(&p->file);
	free(p->at);
	free(p->pristine);
}

/* All over the code, and often where symbols lie close to each other. */
static void choose(struct program *p, uint64_t *random)
{
	p->count = 0;
	while (p->count < ASKED_MAX) {
		const struct known *near = &p->symbols.at[next_random(random) % p->symbols.count];
		uint64_t reach = next_random(random) % 2 ? 64 : 1024;

		p->addresses[p->count++] = near->start + next_random(random) % reach;
	}
}

/* Removes each symbol with a chance in 8ths; those that others have the place of, too. */
static void remove_symbols(struct program *p, uint64_t *random, unsigned int chance)
{
	memcpy(p->at, p->pristine, p->size);
	vec_foreach (&p->symbols, known) {
		if (next_random(random) % 8 >= chance)
			continue;
		known->in_file->st_shndx = SHN_UNDEF;
		known->in_file->st_name = 0;
	}
}

static void take_name(void *context, size_t index, const struct symbol_name *names, size_t count)
{
	struct program *p = context;

	if (!p->got[index])
		p->got[index] = strdup(names[count - 1].function);
}

static void take_start(void *context, size_t index, uint64_t start, uint64_t size)
{
	struct program *p = context;

	(void)size;
	p->starts[index] = p->got[index] ? 0 : start;
}

static void take_guess(void *context, size_t index, uint64_t start, bool is_sure)
{
	take_start(context, index, is_sure ? start : 0, 0);
}

static bool is_right(const struct program *p, uint64_t address, const char *got)
{
	uint64_t last = 0; /* border */

	for (size_t i = 0; i < p->symbols.count && p->symbols.at[i].start <= address; i++) {
		const struct known *known = &p->symbols.at[i];

		if (address < known->end && !strcmp(known->name, got))
			return true;
		last = known->start > last ? known->start : last;
		if (known->end <= address && known->end > last)
			last = known->end;
	}
	for (size_t i = 0; i < p->symbols.count && p->symbols.at[i].start <= address; i++) {
		const struct known *known = &p->symbols.at[i];

		if (known->start == known->end && known->start == last && !strcmp(known->name, got))
			return true;
	}
	return strlen(got) > 4 && !strcmp(got + strlen(got) - 4, "@plt");
}

static size_t named, asked, wrong;

/* As a recorder asks (resolve/names.c). */
static void ask(struct program *p, struct symbols *symbols, unsigned int number)
{
	const struct symbol_image image = {
		.fd = -1, .memory = p->at, .memory_size = p->size, .path = "program"};
	const struct starts_of of = {.number = number, .fd = -1, .memory = p->at, .size = p->size};
	struct starts starts = {0};

	memset(p->starts, 0, p->count * sizeof(*p->starts));
	memset(p->got, 0, p->count * sizeof(*p->got));
	assert_int_equal(
		symbols_of_image(symbols, &image, p->addresses, p->count, take_name, p, NULL), 0);
	assert_int_equal(
		starts_find(&starts, &of, p->addresses, p->count, take_start, take_guess, p, NULL),
		0);
	assert_int_equal(symbols_of_starts(symbols, &image, p->addresses, p->starts, p->count,
					   take_name, p, NULL),
			 0);
	starts_free(&starts);
	for (size_t i = 0; i < p->count; i++) {
		asked++;
		if (!p->got[i])
			continue;
		named++;
		if (!is_right(p, p->addresses[i], p->got[i])) {
			if (wrong++ < 20)
				print_message("%s: %#llx is not in %s\n", p->path,
					      (unsigned long long)p->addresses[i], p->got[i]);
		}
		free((char *)p->got[i]);
	}
}

static void test_no_name_of_a_neighbour(void **state)
{
	uint64_t *addresses = calloc(ASKED_MAX, sizeof(*addresses));
	uint64_t *starts = calloc(ASKED_MAX, sizeof(*starts));
	const char **got = calloc(ASKED_MAX, sizeof(*got));
	struct symbol_options options = {0};
	uint64_t random = seed;

	(void)state;
	assert_true(addresses && starts && got);
	for (int i = 0; i < program_count; i++) {
		size_t all = asked, with_name = named, not_right = wrong;
		struct program program;

		open_program(&program, paths[i]);
		program.addresses = addresses;
		program.starts = starts;
		program.got = got;
		for (unsigned int chance = 0; chance <= 8 && program.symbols.count; chance += 2) {
			struct symbols *symbols;

			assert_int_equal(symbols_new(&options, &symbols), 0);
			choose(&program, &random);
			remove_symbols(&program, &random, chance);
			ask(&program, symbols, chance);
			symbols_free(symbols);
		}
		close_program(&program);
		print_message("%s: %zu addresses, %zu names, %zu wrong\n", paths[i], asked - all,
			      named - with_name, wrong - not_right);
	}
	print_message("%zu addresses, %zu names, %zu wrong\n", asked, named, wrong);
	assert_true(named > asked / 10);
	assert_int_equal(wrong, 0);
	free(addresses);
	free(starts);
	free(got);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_name_of_a_neighbour)};

	paths = argv + 1;
	program_count = argc - 1;
	if (argc > 1 && !strncmp(argv[1], "--seed=", 7)) {
		seed = (unsigned int)atoi(argv[1] + 7);
		paths++;
		program_count--;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
