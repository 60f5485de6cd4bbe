// SPDX-License-Identifier: Apache-2.0
#include "probe/choose.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"
#include "base/vec.h"
#include "symbol/symbols.h"

/*
 * What a symbol must have in it so that its demangled name can match a glob. Large C++ programs
 * have a million symbols, of which a glob means a few: demangling all takes seconds.
 */
struct glob_sign {
	size_t prefix; /* bytes of the glob that stand for themselves, from its first on */
	/* the last name between "::" that mangled names spell out, as far as it fits; "": none */
	char part[48];
};

/* A list that a person, or a script, could mean. */
#define PATTERNS_MAX 10000

/* With more of them, to search symbols for their signs takes longer than to demangle. */
#define SIGNS_MAX 16

struct pattern {
	bool include;
	bool is_library; /* a library as a whole: name is null */
	bool is_plain;	 /* no character in it has a meaning of its own */
	bool is_all;	 /* "*" */
	char *name;
	char *library;	     /* of NAME@LIB; null: wherever it is */
	struct regex *regex; /* null: name is a glob */
	struct glob_sign sign;
};

struct choice {
	vec(struct pattern) patterns;
	bool is_open; /* what a pattern includes is not to be told by symbols */
};

int choice_new(struct choice **choice)
{
	*choice = calloc(1, sizeof(**choice));
	return *choice ? 0 : -ENOMEM;
}

static void free_pattern(struct pattern *p)
{
	regex_free(p->regex);
	free(p->name);
	free(p->library);
}

void choice_free(struct choice *choice)
{
	if (!choice)
		return;
	vec_foreach (&choice->patterns, p)
		free_pattern(p);
	vec_free(&choice->patterns);
	free(choice);
}

static bool hugs_spaces(char c)
{
	return c == '<' || c == '>' || c == ',';
}

/* Takes out the spaces that people and demanglers put into lists of template arguments, or not. */
static void close_up(char *to, const char *from)
{
	char last = 0;

	for (; *from; from++) {
		if (*from == ' ' && (hugs_spaces(last) || hugs_spaces(from[1])))
			continue;
		*to++ = last = *from;
	}
	*to = 0;
}

static char *closed_up(const char *text)
{
	char *copy = malloc(strlen(text) + 1);

	if (copy)
		close_up(copy, text);
	return copy;
}

static int compile(struct pattern *p, const char *expression, struct fail *why)
{
	int err = regex_compile(expression, &p->regex, why);

	return err == -ENOMEM ? fail_errno(why, err, NULL, "pattern \"re:%s\"", expression) : err;
}

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

static void glob_sign_init(struct glob_sign *sign, const char *glob)
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

/* False: neither the symbol nor what it stands for matches the glob that the sign is of. */
static bool glob_sign_fits(const struct glob_sign *sign, const char *glob, const char *symbol)
{
	if (!strncmp(symbol, glob, sign->prefix))
		return true;
	if (symbol_is_mangled(symbol))
		return !sign->part[0] || strstr(symbol, sign->part);
	/* spaces do not count */
	return strchr(symbol, ' ');
}

static int set_glob(struct pattern *p, const char *text, struct fail *why)
{
	const char *at = strrchr(text, '@');

	if (at == text || (at && !at[1]))
		return fail(why, -EINVAL, "write NAME@LIB, such as \"malloc@libc*\" or \"*@libz*\"",
			    "pattern \"%s\" has an empty part", text);
	p->name = closed_up(text);
	if (!p->name)
		return fail_errno(why, -ENOMEM, NULL, "pattern \"%s\"", text);
	if (at) {
		*strrchr(p->name, '@') = 0;
		p->library = strdup(at + 1);
		if (!p->library)
			return fail_errno(why, -ENOMEM, NULL, "pattern \"%s\"", text);
	}
	glob_sign_init(&p->sign, p->name);
	p->is_all = !strcmp(p->name, "*");
	p->is_plain = !strpbrk(p->name, "*?[\\");
	return 0;
}

static int add(struct choice *choice, struct pattern *p, int err, struct fail *why)
{
	if (!err && choice->patterns.count == PATTERNS_MAX)
		err = fail(why, -EINVAL, "choose with fewer, wider patterns",
			   "more than %d patterns", PATTERNS_MAX);
	if (!err && !vec_push(&choice->patterns, *p))
		err = fail_errno(why, -ENOMEM, NULL, "choosing functions");
	if (err)
		free_pattern(p);
	else
		choice->is_open |= p->include && (p->is_library || p->regex || p->is_all);
	return err;
}

int choice_add_function(struct choice *choice, bool include, const char *pattern, struct fail *why)
{
	struct pattern p = {.include = include};
	int err;

	if (!pattern[0] || !strcmp(pattern, "re:"))
		err = fail(why, -EINVAL, "\"*\" stands for all functions", "a pattern is empty");
	else if (!strncmp(pattern, "re:", 3))
		err = compile(&p, pattern + 3, why);
	else
		err = set_glob(&p, pattern, why);
	return add(choice, &p, err, why);
}

int choice_add_library(struct choice *choice, bool include, const char *pattern, struct fail *why)
{
	struct pattern p = {.include = include, .is_library = true};
	int err = 0;

	if (!pattern[0])
		err = fail(why, -EINVAL, "\"*\" stands for all libraries", "a pattern is empty");
	p.library = strdup(pattern);
	if (!err && !p.library)
		err = fail_errno(why, -ENOMEM, NULL, "pattern \"%s\"", pattern);
	return add(choice, &p, err, why);
}

/* What a pattern is compared with. */
struct candidate {
	const char *name;  /* closed up */
	const char *as_is; /* with its spaces */
	const char *symbol;
	const char *library; /* null: none */
};

static bool glob_matches(const struct pattern *p, const char *name)
{
	if (p->is_all)
		return true;
	if (p->is_plain)
		return !strcmp(p->name, name);
	return !fnmatch(p->name, name, 0);
}

static bool any_matches(const struct pattern *p, const struct candidate *c)
{
	return regex_matches(p->regex, c->as_is) ||
	       (c->name != c->as_is && regex_matches(p->regex, c->name)) ||
	       (strcmp(c->symbol, c->as_is) && regex_matches(p->regex, c->symbol));
}

static bool matches(const struct pattern *p, const struct candidate *c)
{
	if (p->library && (!c->library || fnmatch(p->library, c->library, 0)))
		return false;
	if (p->is_library)
		return true;
	if (p->regex)
		return any_matches(p, c);
	return glob_matches(p, c->name) || (c->symbol != c->name && glob_matches(p, c->symbol));
}

bool choice_has(const struct choice *choice, const char *name, const char *symbol,
		const char *library)
{
	struct candidate c = {.name = name, .as_is = name, .symbol = symbol, .library = library};
	char closed[512], *larger = NULL;
	bool has;

	if (!choice->patterns.count)
		return true;
	if (strchr(name, ' ')) {
		larger = strlen(name) < sizeof(closed) ? NULL : malloc(strlen(name) + 1);
		if (larger || strlen(name) < sizeof(closed)) { /* without memory: as it is */
			close_up(larger ? larger : closed, name);
			c.name = larger ? larger : closed;
		}
	}
	has = !choice->patterns.at[0].include;
	for (size_t i = choice->patterns.count; i--;)
		if (matches(&choice->patterns.at[i], &c)) {
			has = choice->patterns.at[i].include;
			break;
		}
	free(larger);
	return has;
}

bool choice_is_all(const struct choice *choice)
{
	return !choice->patterns.count;
}

bool choice_may_have(const struct choice *choice, const char *symbol)
{
	if (!choice->patterns.count || choice->patterns.count > SIGNS_MAX ||
	    !choice->patterns.at[0].include || choice->is_open)
		return true;
	vec_foreach (&choice->patterns, p)
		if (p->include && glob_sign_fits(&p->sign, p->name, symbol))
			return true;
	return false;
}

int choice_check(const struct choice *choice, struct fail *why)
{
	int err = 0;

	vec_foreach (&choice->patterns, p)
		if (!err && p->regex)
			err = regex_check(p->regex, why);
	return err;
}
