/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILM_LABELS_H
#define FILM_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/*
 * Labels that a user gives to films: "env=prod,zone=a", sorted by key, each key once; "" are none.
 * A key is 1 to 63 of [0-9A-Za-z_.-]; a value 1 to 128 bytes of UTF-8 without commas and control
 * characters.
 */
enum {
	FILM_LABELS_MAX = 32,
	FILM_LABEL_KEY_MAX = 63,
	FILM_LABEL_VALUE_MAX = 128,
	/* bytes of all of them with the zero at the end */
	FILM_LABELS_SIZE = FILM_LABELS_MAX * (FILM_LABEL_KEY_MAX + FILM_LABEL_VALUE_MAX + 2)
};

bool film_label_key_ok(const char *key, size_t length);
bool film_label_value_ok(const char *value, size_t length);

/*
 * Adds "KEY=VALUE" to labels, a string in size bytes (FILM_LABELS_SIZE hold all), at its place; a
 * value that the key had is replaced. 0, or -EINVAL or -E2BIG with *why filled.
 */
int film_labels_add(char *labels, size_t size, const char *label, struct fail *why);

/* Copies the value of a key; "": the key has none. */
void film_labels_value(const char *labels, const char *key, char value[FILM_LABEL_VALUE_MAX + 1]);

/* Whether "KEY=VALUE" is among them. */
bool film_labels_have(const char *labels, const char *label);

/*
 * The next of labels: copies its key and returns where its value begins, *length bytes long; null:
 * there is none. *at begins as labels and is moved on.
 */
const char *film_labels_next(const char **at, char key[FILM_LABEL_KEY_MAX + 1], size_t *length);

#endif
