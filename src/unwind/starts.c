// SPDX-License-Identifier: Apache-2.0
#include "unwind/starts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"
#include "unwind/decoded.h"

/* A function; both are from the lowest start of its image on. */
struct start {
	uint32_t start, size;
};

struct starts_image {
	uint64_t number, used;
	uint64_t base;
	struct start *at; /* sorted */
	size_t count;
	bool is_too_large;
	bool is_no_elf;
	bool is_aligned; /* most functions begin on borders of 16 bytes */
	struct decoded decoded;
};

struct function {
	uint64_t start, size;
	size_t order;
};

struct gathered {
	vec(struct function) all;
	int err;
};

static void gather(void *context, uint64_t start, uint64_t size)
{
	struct gathered *g = context;
	struct function function = {start, size, g->all.count};

	if (g->all.count == STARTS_OF_IMAGE_MAX)
		g->err = -E2BIG;
	if (!g->err && !vec_push(&g->all, function))
		g->err = -ENOMEM;
}

/* The first one that was added for an address counts, as where there is no table. */
static int by_start(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void drop(struct starts *starts, struct starts_image *image)
{
	starts->bytes -= image->count * sizeof(*image->at) + decoded_bytes(&image->decoded);
	free(image->at);
	decoded_free(&image->decoded);
	*image = *vec_last(&starts->images);
	starts->images.count--;
}

static struct starts_image *find_image(struct starts *starts, uint64_t number)
{
	vec_foreach (&starts->images, image) {
		if (image->number == number)
			return image;
	}
	return NULL;
}

static void make_room(struct starts *starts, size_t bytes)
{
	while (starts->images.count && starts->bytes + bytes > STARTS_BYTES_MAX) {
		struct starts_image *oldest = NULL;

		vec_foreach (&starts->images, image) {
			if ((image->count || image->decoded.functions.count) &&
			    (!oldest || image->used < oldest->used))
				oldest = image;
		}
		if (!oldest)
			return;
		drop(starts, oldest);
	}
}

/* Parts that the compiler put elsewhere (.cold) begin anywhere, also where functions do not. */
static bool are_aligned(const struct gathered *g)
{
	size_t aligned = 0;

	vec_foreach (&g->all, f)
		aligned += f->start % 16 == 0;
	return aligned > g->all.count / 2;
}

/* From what was gathered. -E2BIG: it does not fit. */
static int fill(struct starts_image *image, const struct gathered *g)
{
	const size_t count = g->all.count;

	qsort(g->all.at, count, sizeof(*g->all.at), by_start);
	image->base = g->all.at[0].start;
	image->is_aligned = are_aligned(g);
	image->at = malloc(count * sizeof(*image->at));
	if (!image->at)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct function *f = &g->all.at[i];

		if (i && f->start == g->all.at[i - 1].start)
			continue;
		if (f->start - image->base > UINT32_MAX || f->size > UINT32_MAX) {
			free(image->at);
			image->at = NULL;
			return -E2BIG;
		}
		image->at[image->count++] =
			(struct start){(uint32_t)(f->start - image->base), (uint32_t)f->size};
	}
	return 0;
}

/*
 * The image's table, made if there is none; null with *err set, or 0 where it has to be searched.
 */
static struct starts_image *table_of(struct starts *starts, const struct starts_of *of, int *err,
				     struct fail *why)
{
	struct starts_image *known = find_image(starts, of->number);
	struct starts_image image = {.number = of->number};
	struct gathered g = {0};

	*err = 0;
	if (known)
		return known->is_too_large ? NULL : known;
	starts->passes++;
	*err = of->fd >= 0 ? unwind_each_function_of_file(of->fd, gather, &g, why)
			   : unwind_each_function_of_memory(of->memory, of->size, gather, &g, why);
	if (!*err)
		*err = g.err;
	if (!*err && g.all.count)
		*err = fill(&image, &g);
	vec_free(&g.all);
	image.is_too_large = *err == -E2BIG;
	image.is_no_elf = *err == -ENOEXEC && of->fd >= 0;
	if (image.is_too_large || image.is_no_elf)
		*err = 0;
	if (*err)
		return NULL;
	make_room(starts, image.count * sizeof(*image.at));
	if (!vec_push(&starts->images, image)) {
		free(image.at);
		*err = fail_errno(why, -ENOMEM, NULL, "cannot look up functions");
		return NULL;
	}
	starts->bytes += image.count * sizeof(*image.at);
	return image.is_too_large ? NULL : vec_last(&starts->images);
}

/* The last function that begins at an address or before it; count: none does. */
static size_t last_until(const struct starts_image *image, uint64_t address)
{
	size_t count;

	if (!image->count || address < image->base)
		return image->count;
	count = search_first(image->count, i, image->at[i].start <= address - image->base);
	return count ? count - 1 : 0;
}

/*
 * The function that covers an address; null: none does, and *gap is what lies between its
 * neighbours.
 */
static const struct start *covering(const struct starts_image *image, uint64_t address,
				    struct decoded_gap *gap)
{
	size_t last = last_until(image, address), next = last == image->count ? 0 : last + 1;
	uint64_t end = 0;

	if (last < image->count) {
		end = image->base + image->at[last].start + image->at[last].size;
		if (address < end)
			return &image->at[last];
	}
	gap->is_aligned = image->is_aligned;
	gap->start = end;
	gap->end = next < image->count ? image->base + image->at[next].start : UINT64_MAX;
	return NULL;
}

/* Those that no function covers, by decoding. */
static int decode_rest(struct starts *starts, struct starts_image *image,
		       const struct starts_of *of, const uint64_t *addresses, size_t count,
		       starts_guessed *guessed, void *context)
{
	struct decoder decoder = {.decoded = &image->decoded, .fd = of->fd};
	size_t before = decoded_bytes(&image->decoded);
	int err = image->is_no_elf ? 0 : decoder_open(&decoder, of->fd, of->memory, of->size);

	for (size_t i = 0; i < count && !err; i++) {
		struct decoded_gap gap;
		struct code_function function;

		if (covering(image, addresses[i], &gap))
			continue;
		err = image->is_no_elf ? decoder_find_lisp(&decoder, addresses[i], &function)
				       : decoder_find(&decoder, &gap, addresses[i], &function);
		if (err > 0)
			guessed(context, i, function.start,
				image->is_no_elf ||
					decoder_leads_to(&decoder, &function, addresses[i]));
		err = err > 0 ? 0 : err;
	}
	decoder_close(&decoder);
	starts->bytes += decoded_bytes(&image->decoded) - before;
	return err;
}

int starts_find(struct starts *starts, const struct starts_of *of, const uint64_t *addresses,
		size_t count, unwind_function_found *found, starts_guessed *guessed, void *context,
		struct fail *why)
{
	struct starts_image *image;
	struct decoded_gap gap;
	size_t missed = 0;
	int err;

	image = table_of(starts, of, &err, why);
	if (err)
		return err;
	if (!image) {
		starts->passes++;
		return of->fd >= 0 ? unwind_functions_of_file(of->fd, addresses, count, found,
							      context, why)
				   : unwind_functions_of_memory(of->memory, of->size, addresses,
								count, found, context, why);
	}
	if (image->is_no_elf && !guessed)
		return fail(why, -ENOEXEC, NULL, "cannot look up functions: not an ELF file");
	image->used = ++starts->uses;
	for (size_t i = 0; i < count; i++) {
		const struct start *start = covering(image, addresses[i], &gap);

		if (start)
			found(context, i, image->base + start->start, start->size);
		else
			missed++;
	}
	if (missed && guessed)
		err = decode_rest(starts, image, of, addresses, count, guessed, context);
	return err ? fail_errno(why, err, NULL, "cannot look up functions") : 0;
}

void starts_forget(struct starts *starts, uint64_t number)
{
	struct starts_image *image = find_image(starts, number);

	if (image)
		drop(starts, image);
}

void starts_free(struct starts *starts)
{
	while (starts->images.count)
		drop(starts, vec_last(&starts->images));
	vec_free(&starts->images);
}
