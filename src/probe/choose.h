/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CHOOSE_H
#define PROBE_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

/*
 * Which functions are meant: an ordered list of patterns that include or exclude; the last one that
 * matches decides. If the first one excludes, or there is none, all others are meant.
 *
 * A pattern is a glob, or with "re:" an extended regular expression that must match somewhere. It
 * is compared with the demangled name without parameters, return type and template arguments'
 * spaces ("leveldb::DBImpl::Get", "std::vector<int>::push_back"), and with the name as it stands in
 * the symbol table. "NAME@LIB" means only calls into libraries whose file name matches LIB
 * ("malloc@libc*").
 */
struct choice;

int choice_new(struct choice **choice);
void choice_free(struct choice *choice);

/* Returns 0, or -EINVAL with *why filled. The pattern is copied. */
int choice_add_function(struct choice *choice, bool include, const char *pattern, struct fail *why);
/* The same for libraries as a whole, by a glob on their file name. */
int choice_add_library(struct choice *choice, bool include, const char *pattern, struct fail *why);

/*
 * Is it meant? library: file name of the library that is called, null for a function of the
 * program.
 */
bool choice_has(const struct choice *choice, const char *name, const char *symbol,
		const char *library);

/* Is all meant, as nothing says what is? */
bool choice_is_all(const struct choice *choice);

/*
 * False: choice_has() would be false for each name, and each part of a name, that symbol can be
 * demangled to. Far cheaper than demangling, which most symbols are then spared.
 */
bool choice_may_have(const struct choice *choice, const char *symbol);

/*
 * 0, or -EINVAL with *why filled: a regular expression took too long, and nothing that
 * choice_has() said is worth anything.
 */
int choice_check(const struct choice *choice, struct fail *why);

#endif
