// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbols.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Costlier names are left as they are. What costs more than the second recurses too deep for a
 * common stack.
 */
#define DEMANGLE_D_COST_MAX  ((size_t)64 << 10)
#define DEMANGLE_D_COST_FLAT ((size_t)2 << 10)

/*
 * A mangled name of a few hundred bytes can stand for a text that fills any memory: each part may
 * repeat all parts before it. So the demangler prints into a buffer of fixed size, and is left by
 * longjmp() when that is full: it has no other way to be stopped, and what prints (unlike what
 * returns a string) holds no memory of its own.
 */
#define MANGLED_MAX   (16u << 10)
#define DEMANGLED_MAX (4u << 10)

/*
 * libiberty refuses names whose parsing might go deeper than 2048 levels, and takes two levels per
 * byte for possible; that excludes everyday template names. Longer ones are parsed without that
 * limit on a stack that is larger than MANGLED_MAX levels can need (some 1 KiB each). Printing is
 * limited to 1024 levels in any case.
 */
#define DEEP_NAME  (DEMANGLE_RECURSION_LIMIT / 2)
#define DEEP_STACK (64u << 20)

static const char cut_mark[] = "...";

struct printer {
	jmp_buf full;
	size_t used;
	char text[DEMANGLED_MAX + sizeof(cut_mark)];
};

static void print(const char *piece, size_t length, void *context)
{
	struct printer *p = context;
	size_t room = DEMANGLED_MAX - p->used;

	if (!length) /* piece may be null then */
		return;
	memcpy(p->text + p->used, piece, length < room ? length : room);
	p->used += length < room ? length : room;
	if (length > room) {
		memcpy(p->text + p->used, cut_mark, sizeof(cut_mark) - 1);
		p->used += sizeof(cut_mark) - 1;
		longjmp(p->full, 1);
	}
}

/* The result is in p->text; false: the name is not mangled. */
static bool demangle(struct printer *p, const char *name, int wanted)
{
	int options = DMGL_ANSI | DMGL_RET_DROP | wanted;

	p->used = 0;
	if (!setjmp(p->full)) {
		/*
		 * Rust comes first: its older names are valid for C++ as well, with a hash at their
		 * end
		 */
		if (!rust_demangle_callback(name, options, print, p)) {
			p->used = 0;
			if (!cplus_demangle_v3_callback(name, options, print, p))
				return false;
		}
	}
	p->text[p->used] = 0;
	return p->used > 0;
}

struct deep {
	struct printer printer;
	const char *name;
	int wanted;
	bool done;
};

/*
 * Names of D (https://dlang.org/spec/abi.html#name_mangling): "d.Box!(int).Box.mix(ulong)" from
 * "_D1d__T3BoxTiZQh3mixMFNaNbNiNfmZm". The name is hostile input of any length that the caller
 * allows.
 */

/*
 * How far back a reference at q ("Q" and a number to the base of 26, whose last digit is a small
 * letter) leads; 0: it is none. *length: of the reference itself.
 */
static size_t reference(const char *q, size_t *length)
{
	size_t back = 0, i = 1;

	for (; isupper((unsigned char)q[i]) && back < SIZE_MAX / 64; i++)
		back = back * 26 + (size_t)(q[i] - 'A');
	if (!islower((unsigned char)q[i]))
		return 0;
	*length = i + 1;
	return back * 26 + (size_t)(q[i] - 'a');
}

/*
 * What follows a place that is referred to may be anything up to the reference itself, so a
 * reference counts for all in between; one to an identifier, which begins with its length, for no
 * more than that. A letter Q within an identifier is taken for a reference as well: a bound may be
 * too high.
 */
static size_t demangle_d_cost(const char *name)
{
	size_t count, i, cost;
	size_t *upto; /* cost of the characters before a place */

	if (strncmp(name, "_D", 2) || (!isdigit((unsigned char)name[2]) && strcmp(name, "_Dmain")))
		return 0;
	count = strlen(name);
	upto = calloc(count + 1, sizeof(*upto));
	if (!upto)
		return 0;
	for (i = 0; i < count; i++) {
		size_t length, back = name[i] == 'Q' ? reference(name + i, &length) : 0, add = 1;

		if (back && back <= i && isdigit((unsigned char)name[i - back]))
			add += (size_t)strtoul(name + i - back, NULL, 10);
		else if (back && back <= i)
			add += upto[i] - upto[i - back];
		if (add > DEMANGLE_D_COST_MAX || upto[i] + add > DEMANGLE_D_COST_MAX)
			break;
		upto[i + 1] = upto[i] + add;
	}
	cost = i == count ? upto[count] : 0;
	free(upto);
	return cost;
}

/* Cuts "(…)" at the end, but not "!(…)", which are arguments of a template. */
static void drop_parameters(char *text)
{
	size_t end = strlen(text), depth = 0, i = end;

	if (!end || text[end - 1] != ')')
		return;
	while (i--) {
		depth += text[i] == ')';
		depth -= text[i] == '(';
		if (!depth)
			break;
	}
	if (!depth && i && text[i - 1] != '!')
		text[i] = 0;
}

/*
 * A new string, to be freed; null: no name of D, too costly, or no memory. parameters false:
 * without them.
 */
static char *demangle_d(const char *name, bool parameters)
{
	char *text = demangle_d_cost(name) ? dlang_demangle(name, DMGL_PARAMS) : NULL;

	if (text && !parameters)
		drop_parameters(text);
	return text;
}

/* A name of D into the printer's text; false: it is none. */
static bool demangle_as_d(struct printer *p, const char *name, int wanted)
{
	char *text = demangle_d(name, wanted & DMGL_PARAMS);

	p->used = 0;
	if (text && !setjmp(p->full))
		print(text, strlen(text), p);
	free(text);
	p->text[p->used] = 0;
	return p->used > 0;
}

static void *demangle_deep(void *context)
{
	struct deep *d = context;

	d->done = demangle(&d->printer, d->name, d->wanted | DMGL_NO_RECURSE_LIMIT) ||
		  demangle_as_d(&d->printer, d->name, d->wanted);
	return NULL;
}

static char *demangle_on_large_stack(const char *name, int wanted)
{
	struct deep *d = calloc(1, sizeof(*d));
	pthread_attr_t attributes;
	pthread_t thread;
	char *text = NULL;

	if (!d)
		return NULL;
	d->name = name;
	d->wanted = wanted;
	if (pthread_attr_init(&attributes))
		goto out;
	if (!pthread_attr_setstacksize(&attributes, DEEP_STACK) &&
	    !pthread_create(&thread, &attributes, demangle_deep, d)) {
		pthread_join(thread, NULL);
		if (d->done)
			text = strdup(d->printer.text);
	}
	pthread_attr_destroy(&attributes);
out:
	free(d);
	return text;
}

bool symbol_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D' ||
				  !strncmp(name, "_GLOBAL_", 8));
}

static char *copy_cut(const char *name)
{
	size_t length = strnlen(name, DEMANGLED_MAX + 1);
	char *copy;

	if (length <= DEMANGLED_MAX)
		return strdup(name);
	copy = malloc(DEMANGLED_MAX + sizeof(cut_mark));
	if (copy) {
		memcpy(copy, name, DEMANGLED_MAX);
		memcpy(copy + DEMANGLED_MAX, cut_mark, sizeof(cut_mark));
	}
	return copy;
}

/* Demangles a name without version or suffix; null: not mangled, or no memory. */
static char *demangle_plain(const char *name, int wanted)
{
	struct printer p;
	size_t length = strnlen(name, MANGLED_MAX + 1);

	if (!symbol_is_mangled(name) || length > MANGLED_MAX)
		return NULL;
	if (length > DEEP_NAME || demangle_d_cost(name) > DEMANGLE_D_COST_FLAT)
		return demangle_on_large_stack(name, wanted);
	return demangle(&p, name, wanted) || demangle_as_d(&p, name, wanted) ? strdup(p.text)
									     : NULL;
}

static char *demangle_all(const char *name, int wanted)
{
	/* "@V1" of old symbol versions, "@plt": not part of what was mangled */
	const char *at = symbol_is_mangled(name) ? strchr(name, '@') : NULL;
	char *text, *whole;

	if (!at) {
		text = demangle_plain(name, wanted);
		return text ? text : copy_cut(name);
	}
	whole = strndup(name, (size_t)(at - name));
	if (!whole)
		return NULL;
	text = demangle_plain(whole, wanted);
	free(whole);
	if (!text)
		return copy_cut(name);
	if (asprintf(&whole, "%s%s", text, at) < 0)
		whole = NULL;
	free(text);
	text = whole ? copy_cut(whole) : NULL;
	free(whole);
	return text;
}

char *symbol_demangle(const char *name)
{
	return demangle_all(name, DMGL_PARAMS);
}

char *symbol_demangle_short(const char *name)
{
	return demangle_all(name, 0);
}
