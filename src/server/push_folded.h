/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PUSH_FOLDED_H
#define SERVER_PUSH_FOLDED_H

#include "server/push_film.h"

/*
 * Text with a stack a line, "main;work;read 12", root first; without numbers ("lines"), each counts
 * one. What a value counts is for the caller to say: each is multiplied with weight.
 */
struct push_folded {
	const char *service;
	struct push_type type;
	uint64_t weight;
	bool is_counted; /* a value is that many samples */
	bool has_numbers;
};

/* Returns 0, or -EBADMSG or -ENOMEM with *why filled: nothing in it was such a line. */
int push_folded_give(const uint8_t *text, size_t size, const struct push_folded *what,
		     struct push_film *film, struct fail *why);

#endif
