// SPDX-License-Identifier: Apache-2.0
#include "probe/glob_sign.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "symbol/symbols.h"

/*
 * Names that manglings abbreviate (Itanium C++ ABI, 5.1.8: "Ss" is std::string) or make up ("this"
 * is a constructor of D). All others stand in the symbol as they are, once at least: what refers
 * back refers to that.
 */
static bool is_abbreviated(const char *name, size_t size)
{
	static const char *const names[] = {"std",	     "allocator",     "basic_string",
					    "string",	     "basic_istream", "istream",
					    "basic_ostream", "ostream",	      "basic_iostream",
					    "iostream",	     "this"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == size && !memcmp(names[i], name, size))
			return true;
	return false;
}

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool is_colons(const char *at)
{
	return at[0] == ':' && at[1] == ':';
}

void glob_sign_take(struct glob_sign *sign, const char *glob)
{
	size_t size;

	*sign = (struct glob_sign){.prefix = strcspn(glob, "*?[\\")};
	/* what looks like a name can stand for one character */
	if (strpbrk(glob, "[\\"))
		return;
	for (size_t at = 0; glob[at]; at += size ? size : 1) {
		for (size = 0; is_of_name(glob[at + size]); size++)
			;
		if (size && size < sizeof(sign->part) &&
		    (!at || (at >= 2 && is_colons(glob + at - 2))) &&
		    (!glob[at + size] || is_colons(glob + at + size)) &&
		    !isdigit((unsigned char)glob[at]) && !is_abbreviated(glob + at, size))
			snprintf(sign->part, sizeof(sign->part), "%.*s", (int)size, glob + at);
	}
}

bool glob_sign_fits(const struct glob_sign *sign, const char *glob, const char *symbol)
{
	if (!strncmp(symbol, glob, sign->prefix))
		return true;
	if (symbol_is_mangled(symbol))
		return !sign->part[0] || strstr(symbol, sign->part);
	/* spaces do not count */
	return strchr(symbol, ' ');
}
