/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXCHANGE_FOLDED_READER_H
#define EXCHANGE_FOLDED_READER_H

#include "exchange/import.h"

/*
 * Text with a stack a line, "main;work;read 12", root first; without numbers ("lines"), each counts
 * one. What a value counts is for the caller to say: each is multiplied with weight.
 */
struct folded_values {
	const char *service;
	struct import_type type;
	uint64_t weight;
	bool is_counted; /* a value is that many samples */
	bool has_numbers;
};

/* Returns 0, or -EBADMSG or -ENOMEM with *why filled: nothing in it was such a line. */
int folded_import(const uint8_t *text, size_t size, const struct folded_values *what,
		  struct import *film, struct fail *why);

#endif
