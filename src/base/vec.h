/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * A growable array: vec(T), or any struct { T *at; size_t count, room; }. All zero is empty.
 *
 *	vec(struct mapping) maps = {0};
 *	if (!vec_push(&maps, m))
 *		return -ENOMEM;
 *	vec_foreach (&maps, m) …
 *	vec_free(&maps);
 */
#define vec(T)                      \
	struct {                    \
		T *at;              \
		size_t count, room; \
	}

bool vec_grow_raw(void **at, size_t *room, size_t wanted, size_t size);

/* Allocates room for n items in total; false: no memory (nothing changed). */
#define vec_reserve(v, n) \
	((n) <= (v)->room || vec_grow_raw((void **)&(v)->at, &(v)->room, (n), sizeof(*(v)->at)))

/* Appends one item; false: no memory (nothing changed). */
#define vec_push(v, ...) \
	(vec_reserve(v, (v)->count + 1) && ((v)->at[(v)->count++] = (__VA_ARGS__), true))

#define vec_last(v) (&(v)->at[(v)->count - 1])

/*
 * Iterates over all items; item is a pointer. The array must not grow meanwhile. (count is tested
 * first: adding even 0 to the null pointer of an empty array is undefined in C, and clang's
 * sanitizer reports it.)
 */
#define vec_foreach(v, item)                                                                  \
	for (__typeof__(*(v)->at) *item = (v)->at; (v)->count && item < (v)->at + (v)->count; \
	     item++)

#define vec_free(v)                         \
	do {                                \
		free((v)->at);              \
		(v)->at = NULL;             \
		(v)->count = (v)->room = 0; \
	} while (0)

#endif
