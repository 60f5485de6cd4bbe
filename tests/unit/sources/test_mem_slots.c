// SPDX-License-Identifier: Apache-2.0
/*
 * Which words are changed: images and words that are made up, against what the dynamic linker would
 * make of them, and real ones, those of this process.
 */
#include "../prelude.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sources/memory/slots.h"

#define ROUNDS 20000
#define IMAGES 5
#define SIZE   0x10000

static const uint64_t hooks[MEMORY_FUNCTIONS] = {
	0x7001000, 0x7001010, 0x7001020, 0x7001030, 0x7001040, 0x7001050, 0x7001060, 0x7001070,
	0x7001080, 0x7001090, 0x70010a0, 0x70010b0, 0x70010c0, 0x70010d0, 0x70010e0, 0x70010f0};

static uint64_t function_at(uint32_t image, uint32_t function)
{
	return 0x100000 * (image + 1) + 0x1000 + 16 * function;
}

/* How a word was made. */
enum made {
	OF_PROVIDER, /* bound to the allocator that the linker has chosen */
	OF_OTHER,    /* to another image's function: of dlopen() with RTLD_DEEPBIND, say */
	LAZY,	     /* in the image's own code: not bound yet */
	HOOKED,
	LOCKED, /* in memory that all processes share */
	STRANGE,
	MADE
};

struct model {
	struct mem_slots slots;
	enum made made[1024];
	uint32_t provider;
};

static uint32_t below(uint32_t limit)
{
	return (uint32_t)rand() % limit;
}

static void add_images(struct model *model)
{
	for (uint32_t i = 0; i < IMAGES; i++) {
		struct mem_slot_image image = {.inode = i + 1,
					       .start = 0x100000 * (i + 1),
					       .end = 0x100000 * (i + 1) + SIZE};

		image.is_linker = i == IMAGES - 1;
		for (uint32_t f = 0; f <= 9; f++)
			if (i == model->provider || image.is_linker || (i == 1 && below(2)))
				image.functions[f] = function_at(i, f);
		assert_true(vec_push(&model->slots.images, image));
	}
}

static uint64_t value_of(const struct model *model, const struct mem_slot *slot, enum made made)
{
	switch (made) {
	case OF_PROVIDER:
	case LOCKED:
		return function_at(model->provider, slot->function);
	case OF_OTHER:
		return function_at(IMAGES + 1, slot->function);
	case LAZY:
		return 0x100000 * (slot->image + 1) + 0x800;
	case HOOKED:
		return hooks[slot->function];
	default:
		return 0x9000000;
	}
}

static void add_words(struct model *model)
{
	/* most are the provider's, or it would not be one */
	for (uint32_t i = 0; i < 40; i++) {
		enum made made = i < 20 ? OF_PROVIDER : below(MADE);
		struct mem_slot slot = {.address = 8 * (i + 1),
					.image = below(IMAGES - 1),
					.function = below(10),
					.protection = PROT_READ | PROT_WRITE};

		slot.value = value_of(model, &slot, made);
		slot.protection = made == LOCKED ? 0 : slot.protection;
		model->made[i] = made;
		assert_true(vec_push(&model->slots.slots, slot));
	}
}

static bool has_bound(const struct model *model, uint32_t image)
{
	for (size_t i = 0; i < model->slots.slots.count; i++)
		if (model->slots.slots.at[i].image == image &&
		    (model->made[i] == OF_PROVIDER || model->made[i] == HOOKED ||
		     model->made[i] == LOCKED))
			return true;
	return false;
}

static size_t definers_of(const struct model *model)
{
	size_t count = 0;

	vec_foreach (&model->slots.images, image)
		count += image->functions[0] && !image->is_linker;
	return count;
}

static enum mem_slot_state expected(const struct model *model, size_t i)
{
	switch (model->made[i]) {
	case OF_PROVIDER:
		return MEM_SLOT_BOUND;
	case HOOKED:
		return MEM_SLOT_HOOKED;
	case LAZY:
		return definers_of(model) == 1 || has_bound(model, model->slots.slots.at[i].image)
			       ? MEM_SLOT_UNBOUND
			       : MEM_SLOT_OTHER;
	default:
		return MEM_SLOT_OTHER;
	}
}

static void test_words_of_a_model(void **state)
{
	uint64_t next[MEMORY_FUNCTIONS] = {0};

	(void)state;
	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct model *model = calloc(1, sizeof(*model));
		const struct mem_slot_image *provider;

		assert_non_null(model);
		model->provider = below(2) ? 0 : 2;
		add_images(model);
		add_words(model);
		for (uint32_t f = 0; f < 10; f++)
			next[f] = function_at(model->provider, f);
		provider = mem_slots_provider(&model->slots, hooks, next);
		assert_ptr_equal(provider, &model->slots.images.at[model->provider]);
		for (size_t i = 0; i < model->slots.slots.count; i++)
			assert_int_equal(mem_slots_state(&model->slots, &model->slots.slots.at[i],
							 provider, hooks),
					 expected(model, i));
		mem_slots_free(&model->slots);
		free(model);
	}
}

/* Of CPython's, what lies in the interpreter is its own, the rest is the library's or unknown. */
static void test_words_of_python(void **state)
{
	struct mem_slots slots = {0};
	struct mem_slot_image image = {.start = 0x100000, .end = 0x110000};
	struct mem_slot slot = {.function = MEMORY_C_FUNCTIONS + 2,
				.value = 0x100100,
				.protection = PROT_READ | PROT_WRITE};

	(void)state;
	assert_true(vec_push(&slots.images, image));
	assert_int_equal(mem_slots_state(&slots, &slot, slots.images.at, hooks), MEM_SLOT_BOUND);
	slot.value = hooks[slot.function];
	assert_int_equal(mem_slots_state(&slots, &slot, slots.images.at, hooks), MEM_SLOT_HOOKED);
	slot.value = 0x110000;
	assert_int_equal(mem_slots_state(&slots, &slot, slots.images.at, hooks), MEM_SLOT_OTHER);
	slot.value = 0;
	assert_int_equal(mem_slots_state(&slots, &slot, slots.images.at, hooks), MEM_SLOT_OTHER);
	slot.value = 0x100100;
	slot.protection = 0;
	assert_int_equal(mem_slots_state(&slots, &slot, slots.images.at, hooks), MEM_SLOT_OTHER);
	mem_slots_free(&slots);
}

/* This program calls malloc() of its C library through words that are found. */
static void test_words_of_this_process(void **state)
{
	const uint64_t none[MEMORY_FUNCTIONS] = {0};
	const struct mem_slot_image *provider;
	struct mem_slots slots;
	bool found = false;

	(void)state;
	free(malloc(1));
	assert_int_equal(mem_slots_read(&slots, NULL, getpid(), 0, 0), 0);
	provider = mem_slots_provider(&slots, none, none);
	assert_non_null(provider);
	vec_foreach (&slots.slots, slot) {
		assert_int_equal(*(const uint64_t *)slot->address, slot->value);
		found |= slot->value == (uint64_t)(uintptr_t)malloc && slot->function == 0 &&
			 mem_slots_state(&slots, slot, provider, none) == MEM_SLOT_BOUND;
	}
	assert_true(found);
	mem_slots_free(&slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_of_a_model),
		cmocka_unit_test(test_words_of_python),
		cmocka_unit_test(test_words_of_this_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
