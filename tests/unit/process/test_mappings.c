// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/mappings.h"

/*
 * Images that stand for files; there are none, so they have no segments and the bias is start -
 * offset.
 */
static struct images *images;
static struct image *file_a, *file_b, *jit;

static int make_images(void **state)
{
	struct images_listener listener = {0};

	(void)state;
	if (images_new(&listener, &images))
		return -1;
	file_a = images_get(images, &(struct image_question){5000000, 0, 1, 99, 1, "/no/a"});
	file_b = images_get(images, &(struct image_question){5000000, 0, 1, 99, 2, "/no/b"});
	jit = images_get(images, &(struct image_question){5000000, 0, 1, 0, 0, "//anon"});
	return 0;
}

static int free_images(void **state)
{
	(void)state;
	images_free(images);
	return 0;
}

static struct mapping map(struct image *image, uint64_t start, uint64_t end, uint64_t offset)
{
	bool file = image->kind == IMAGE_FILE;

	images_use(image);
	return (struct mapping){start, end, file ? offset : 0, images_bias(image, start, offset),
				image};
}

static int put(struct mappings *m, struct image *image, uint64_t start, uint64_t end,
	       uint64_t offset)
{
	struct mapping added = map(image, start, end, offset);

	return mappings_put(m, &added, images, 0);
}

static void expect(const struct mappings *m, size_t i, struct image *image, uint64_t start,
		   uint64_t end, uint64_t offset)
{
	assert_true(i < m->count);
	assert_ptr_equal(m->at[i].image, image);
	assert_int_equal(m->at[i].start, start);
	assert_int_equal(m->at[i].end, end);
	assert_int_equal(m->at[i].offset, offset);
	if (image->kind == IMAGE_FILE)
		assert_int_equal(m->at[i].bias, start - offset);
	else
		assert_int_equal(m->at[i].bias, 0);
}

static void put_in_order(void **state)
{
	struct mappings m = {0};

	(void)state;
	assert_int_equal(put(&m, file_a, 0x5000, 0x6000, 0), 1);
	assert_int_equal(put(&m, file_b, 0x1000, 0x2000, 0), 1);
	assert_int_equal(put(&m, jit, 0x3000, 0x4000, 0), 1);
	assert_int_equal(m.count, 3);
	expect(&m, 0, file_b, 0x1000, 0x2000, 0);
	expect(&m, 1, jit, 0x3000, 0x4000, 0);
	expect(&m, 2, file_a, 0x5000, 0x6000, 0);
	assert_null(mappings_find(&m, 0xfff));
	assert_ptr_equal(mappings_find(&m, 0x1000), &m.at[0]);
	assert_ptr_equal(mappings_find(&m, 0x1fff), &m.at[0]);
	assert_null(mappings_find(&m, 0x2000));
	assert_ptr_equal(mappings_find(&m, 0x5fff), &m.at[2]);
	assert_null(mappings_find(&m, UINT64_MAX));
	mappings_free(&m, images, 0);
	assert_int_equal(file_a->users, 1);
	assert_int_equal(file_b->users, 1);
}

static void split_in_the_middle(void **state)
{
	struct mappings m = {0};
	struct mapping added;
	uint64_t start, end;

	(void)state;
	put(&m, file_a, 0x1000, 0x9000, 0x100000);
	added = map(file_b, 0x3000, 0x5000, 0);
	assert_true(mappings_conflict(&m, &added, &start, &end));
	assert_int_equal(start, 0x3000);
	assert_int_equal(end, 0x5000);
	assert_int_equal(mappings_put(&m, &added, images, 0), 1);
	assert_int_equal(m.count, 3);
	expect(&m, 0, file_a, 0x1000, 0x3000, 0x100000);
	expect(&m, 1, file_b, 0x3000, 0x5000, 0);
	expect(&m, 2, file_a, 0x5000, 0x9000, 0x104000);
	assert_int_equal(file_a->users, 3);
	assert_int_equal(file_b->users, 2);
	mappings_free(&m, images, 0);
	assert_int_equal(file_a->users, 1);
}

static void cut_at_both_sides(void **state)
{
	struct mappings m = {0};
	struct mapping added;
	uint64_t start, end;

	(void)state;
	put(&m, file_a, 0x1000, 0x3000, 0);
	put(&m, jit, 0x3000, 0x4000, 0);
	put(&m, file_b, 0x5000, 0x7000, 0x2000);
	added = map(file_a, 0x2000, 0x6000, 0x80000);
	assert_true(mappings_conflict(&m, &added, &start, &end));
	assert_int_equal(start, 0x2000);
	assert_int_equal(end, 0x6000);
	mappings_put(&m, &added, images, 0);
	assert_int_equal(m.count, 3);
	expect(&m, 0, file_a, 0x1000, 0x2000, 0);
	expect(&m, 1, file_a, 0x2000, 0x6000, 0x80000);
	expect(&m, 2, file_b, 0x6000, 0x7000, 0x3000);
	assert_int_equal(jit->users, 1);
	/* all at once */
	put(&m, jit, 0, 0x10000, 0);
	assert_int_equal(m.count, 1);
	expect(&m, 0, jit, 0, 0x10000, 0);
	mappings_free(&m, images, 0);
	assert_int_equal(file_a->users, 1);
	assert_int_equal(file_b->users, 1);
	assert_int_equal(jit->users, 1);
}

/*
 * A JIT that makes page after page executable has one mapping, and none of its code was replaced.
 */
static void growing_is_no_replacement(void **state)
{
	struct mappings m = {0};
	struct mapping added;
	uint64_t start, end;

	(void)state;
	put(&m, jit, 0x1000, 0x2000, 0);
	added = map(jit, 0x1000, 0x3000, 0);
	assert_false(mappings_conflict(&m, &added, &start, &end));
	assert_int_equal(mappings_put(&m, &added, images, 0), 1);
	assert_int_equal(put(&m, jit, 0x3000, 0x4000, 0), 1);
	assert_int_equal(put(&m, jit, 0x2000, 0x3000, 0), 0);
	assert_int_equal(m.count, 1);
	expect(&m, 0, jit, 0x1000, 0x4000, 0);
	assert_int_equal(jit->users, 2);
	/*
	 * the same of a file, where the offset goes on; elsewhere in the file it is something else
	 */
	put(&m, file_a, 0x5000, 0x6000, 0x1000);
	put(&m, file_a, 0x6000, 0x7000, 0x2000);
	put(&m, file_a, 0x7000, 0x8000, 0x9000);
	assert_int_equal(m.count, 3);
	expect(&m, 1, file_a, 0x5000, 0x7000, 0x1000);
	expect(&m, 2, file_a, 0x7000, 0x8000, 0x9000);
	added = map(file_a, 0x5000, 0x6000, 0x2000);
	assert_true(mappings_conflict(&m, &added, &start, &end));
	images_release(images, file_a, 0);
	mappings_free(&m, images, 0);
}

static void lost_and_equal(void **state)
{
	struct mappings old = {0}, new = {0}, copy = {0};
	uint64_t start, end;

	(void)state;
	put(&old, file_a, 0x1000, 0x2000, 0);
	put(&old, file_b, 0x3000, 0x5000, 0);
	assert_true(mappings_copy(&copy, &old, images));
	assert_true(mappings_equal(&copy, &old));
	assert_false(mappings_lost(&old, &copy, &start, &end));
	put(&copy, jit, 0x8000, 0x9000, 0);
	assert_false(mappings_equal(&copy, &old));
	assert_false(mappings_lost(&old, &copy, &start, &end));
	put(&new, file_a, 0x1000, 0x2000, 0);
	put(&new, file_b, 0x3000, 0x4000, 0);
	assert_true(mappings_lost(&old, &new, &start, &end));
	assert_int_equal(start, 0x3000);
	assert_int_equal(end, 0x5000);
	mappings_free(&old, images, 0);
	mappings_free(&new, images, 0);
	mappings_free(&copy, images, 0);
}

#define PAGES 64

/* Random mappings against the simplest model: what each page holds. */
static void like_a_model(void **state)
{
	struct image *files[] = {file_a, file_b, jit};
	struct {
		struct image *image;
		uint64_t offset;
	} model[PAGES] = {0};
	struct mappings m = {0};
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		uint64_t from = (uint64_t)rand_r(&seed) % PAGES;
		uint64_t pages = 1 + (uint64_t)rand_r(&seed) % 8;
		uint64_t offset = (uint64_t)rand_r(&seed) % 4;
		struct image *image = files[rand_r(&seed) % 3];

		if (from + pages > PAGES)
			pages = PAGES - from;
		assert_true(put(&m, image, from * 4096, (from + pages) * 4096, offset * 4096) >= 0);
		for (uint64_t i = 0; i < pages; i++) {
			model[from + i].image = image;
			model[from + i].offset = image == jit ? 0 : offset + i;
		}
		if (round % 64 == 63) {
			mappings_clear(&m, images, 0, false);
			memset(model, 0, sizeof(model));
		}
		for (uint64_t i = 0; i < PAGES; i++) {
			struct mapping *found = mappings_find(&m, i * 4096 + 5);

			assert_ptr_equal(found ? found->image : NULL, model[i].image);
			if (found && found->image != jit)
				assert_int_equal(found->offset + i * 4096 - found->start,
						 model[i].offset * 4096);
		}
		for (size_t i = 1; i < m.count; i++)
			assert_true(m.at[i - 1].end <= m.at[i].start);
		assert_int_equal(file_a->users + file_b->users + jit->users, m.count + 3);
	}
	mappings_free(&m, images, 0);
}

static void kernels_own_stay(void **state)
{
	struct image *vsyscall = images_get(
		images, &(struct image_question){5000000, 0xffffffffff600000, 0xffffffffff601000, 0,
						 0, "[vsyscall]"});
	struct mappings m = {0};

	(void)state;
	put(&m, file_a, 0x1000, 0x2000, 0);
	put(&m, vsyscall, 0xffffffffff600000, 0xffffffffff601000, 0);
	mappings_clear(&m, images, 0, true);
	assert_int_equal(m.count, 1);
	assert_ptr_equal(m.at[0].image, vsyscall);
	mappings_free(&m, images, 0);
}

static void too_many(void **state)
{
	struct mappings m = {0};

	(void)state;
	for (uint64_t i = 0; i < MAPPINGS_MAX; i++)
		assert_int_equal(put(&m, file_a, i * 0x2000, i * 0x2000 + 0x1000, 0), 1);
	assert_int_equal(put(&m, file_a, 0x1000000000, 0x1000001000, 0), -ENOSPC);
	assert_int_equal(m.count, MAPPINGS_MAX);
	assert_int_equal(file_a->users, MAPPINGS_MAX + 1);
	/* one that takes the place of another is no more */
	assert_int_equal(put(&m, file_b, 0, 0x1000, 0), 1);
	mappings_free(&m, images, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(put_in_order),	     cmocka_unit_test(split_in_the_middle),
		cmocka_unit_test(cut_at_both_sides), cmocka_unit_test(growing_is_no_replacement),
		cmocka_unit_test(lost_and_equal),    cmocka_unit_test(like_a_model),
		cmocka_unit_test(kernels_own_stay),  cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, make_images, free_images);
}
