// SPDX-License-Identifier: Apache-2.0
#include "base/radix.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static uint64_t key_of(const uint8_t *item, size_t key)
{
	uint64_t word;

	memcpy(&word, item + key, sizeof(word));
	return word;
}

/* One pass: from one array to the other, in the order of a digit. */
static void pass(uint8_t *to, const uint8_t *from, size_t count, size_t size, size_t key,
		 unsigned int shift)
{
	size_t place[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < count; i++)
		place[key_of(from + i * size, key) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t next = sum + place[i];

		place[i] = sum;
		sum = next;
	}
	for (size_t i = 0; i < count; i++) {
		const uint8_t *item = from + i * size;

		memcpy(to + place[key_of(item, key) >> shift & (DIGITS - 1)]++ * size, item, size);
	}
}

bool radix_sort(void *items, size_t count, size_t size, size_t key)
{
	uint8_t *from = items, *to, *room;
	uint64_t before = 0, differ = 0;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		uint64_t now = key_of(from + i * size, key);

		sorted &= now >= before;
		differ |= i ? now ^ before : 0;
		before = now;
	}
	if (sorted)
		return true;
	to = room = reallocarray(NULL, count, size);
	if (!room)
		return false;
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		uint8_t *other = from;

		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		pass(to, from, count, size, key, shift);
		from = to;
		to = other;
	}
	if (from != items)
		memcpy(items, from, count * size);
	free(room);
	return true;
}
