// SPDX-License-Identifier: Apache-2.0
#include "unwind/decoded.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/search.h"

/* An image with more symbols than this has names for its functions. */
#define SYMBOLS_MAX (1u << 16)

/* Functions of Lisp are longer, with the constants before them. */
#define LISP_REACH (64 << 10)

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int by_start(const void *a, const void *b)
{
	const struct code_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int read_symbols(struct decoder *d)
{
	struct elf_part symbols = {0};
	int err = elf_image_load_symbols(&d->image, &symbols);
	size_t count = symbols.size / sizeof(Elf64_Sym);

	if (err == -ENOMEM)
		return err;
	if (err || count > SYMBOLS_MAX)
		return 0;
	d->known = calloc(count + 1, sizeof(*d->known));
	d->borders = calloc(2 * count + 1, sizeof(*d->borders));
	if (!d->known || !d->borders)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		Elf64_Sym s;
		unsigned int type;

		memcpy(&s, symbols.at + i * sizeof(s), sizeof(s));
		type = ELF64_ST_TYPE(s.st_info);
		if (s.st_shndx == SHN_UNDEF || s.st_shndx >= SHN_LORESERVE ||
		    (type > STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		if (type == STT_FUNC || type == STT_GNU_IFUNC)
			d->known[d->known_count++] = s.st_value;
		d->borders[d->border_count++] = s.st_value;
		d->borders[d->border_count++] = s.st_value + s.st_size;
	}
	qsort(d->borders, d->border_count, sizeof(*d->borders), by_number);
	qsort(d->known, d->known_count, sizeof(*d->known), by_number);
	return 0;
}

int decoder_open(struct decoder *d, int fd, const void *memory, size_t size)
{
	int err = elf_image_open_bare(&d->image, fd, memory, size, NULL);

	d->is_open = true;
	return err ? err : read_symbols(d);
}

void decoder_close(struct decoder *d)
{
	if (d->is_open)
		elf_image_close(&d->image);
	free(d->known);
	free(d->borders);
}

/* The known function around an address, or null. */
static const struct code_function *find(const struct decoded *decoded, uint64_t address)
{
	size_t count = search_first(decoded->functions.count, i,
				    decoded->functions.at[i].start <= address);
	const struct code_function *f = count ? &decoded->functions.at[count - 1] : NULL;

	return f && address >= f->start && address - f->start < f->size ? f : NULL;
}

/* In order; what begins within another one was seen with less around it. */
static void tidy(struct decoded *decoded)
{
	code_functions *all = &decoded->functions;
	size_t kept = 0;

	if (all->count)
		qsort(all->at, all->count, sizeof(*all->at), by_start);
	for (size_t i = 0; i < all->count; i++) {
		if (kept && all->at[i].start - all->at[kept - 1].start < all->at[kept - 1].size)
			continue;
		all->at[kept++] = all->at[i];
	}
	all->count = kept < DECODED_FUNCTIONS_MAX ? kept : DECODED_FUNCTIONS_MAX;
}

/* A function does not go on where a symbol begins or ends. */
static void limit_by_symbols(const struct decoder *d, uint64_t address, struct decoded_gap *gap)
{
	size_t next = search_first(d->border_count, i, d->borders[i] <= address);

	if (next && d->borders[next - 1] > gap->start)
		gap->start = d->borders[next - 1];
	if (next < d->border_count && d->borders[next] < gap->end)
		gap->end = d->borders[next];
}

/* Where sections say what is code, a gap ends with its section. */
static bool limit(const struct elf_image *image, uint64_t address, struct decoded_gap *gap)
{
	const struct elf_range *ranges = image->texts ? image->text : image->code;
	unsigned int count = image->texts ? image->texts : image->codes;

	for (unsigned int i = 0; i < count; i++) {
		if (address < ranges[i].start || address >= ranges[i].end)
			continue;
		if (gap->start < ranges[i].start)
			gap->start = ranges[i].start;
		if (gap->end > ranges[i].end)
			gap->end = ranges[i].end;
		return true;
	}
	return false;
}

/* Decodes what of the gap is near the address. */
static int decode_around(struct decoder *d, struct decoded_gap gap, uint64_t address)
{
	struct code_starts_of of = {
		.address = address - gap.start > CODE_STARTS_REACH ? address - CODE_STARTS_REACH
								   : gap.start,
		.is_aligned = gap.is_aligned,
		.known = d->known,
		.known_count = d->known_count,
	};
	uint64_t end =
		gap.end - address > CODE_STARTS_REACH ? address + CODE_STARTS_REACH : gap.end;
	uint8_t *code = malloc(end - of.address);
	int err;

	if (!code)
		return -ENOMEM;
	of.code = code;
	of.size = elf_image_read_code(&d->image, of.address, code, end - of.address);
	of.is_start = of.address == gap.start;
	of.is_end = of.address + of.size == gap.end;
	d->decoded->code += of.size;
	err = code_starts_add(&of, &d->decoded->functions);
	free(code);
	tidy(d->decoded);
	return err;
}

int decoder_find(struct decoder *d, const struct decoded_gap *gap, uint64_t address,
		 struct code_function *function)
{
	const struct code_function *known = find(d->decoded, address);
	struct decoded_gap limited = *gap;
	int err = 0;

	if (!known && d->decoded->code < DECODED_CODE_MAX && limit(&d->image, address, &limited)) {
		limit_by_symbols(d, address, &limited);
		err = decode_around(d, limited, address);
		known = find(d->decoded, address);
	}
	if (known)
		*function = *known;
	return err ? err : known != NULL;
}

bool decoder_leads_to(const struct decoder *d, const struct code_function *function,
		      uint64_t address)
{
	size_t size = function->size < 2 * CODE_STARTS_REACH ? function->size : 0;
	uint8_t *code = malloc(size + 1);
	bool leads;

	leads = code && size &&
		elf_image_read_code(&d->image, function->start, code, size) == size &&
		code_leads_to(code, size, address - function->start);
	free(code);
	return leads;
}

int decoder_find_lisp(struct decoder *d, uint64_t offset, struct code_function *function)
{
	size_t size = offset < LISP_REACH ? offset : LISP_REACH, back = 0;
	uint8_t *code = malloc(size + 1);

	if (!code)
		return -ENOMEM;
	if (file_read_at(d->fd, offset - size, code, size))
		back = code_starts_of_lisp(code, size, offset);
	free(code);
	*function = (struct code_function){offset - back, back + 1};
	return back != 0;
}

void decoded_free(struct decoded *decoded)
{
	vec_free(&decoded->functions);
}
