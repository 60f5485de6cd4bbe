// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/batch.h"
#include "symbol/lines.h"

/*
 * /proc/kallsyms has starts but no sizes: a symbol ends where the next one begins, of any
 * type. Modules and BPF programs lie apart, with free memory behind the last symbol of each; so
 * nothing reaches further than the longest function can be.
 */
#define REACH (1u << 20)

/* The nearest symbol that begins after the address of the question before, up to this one's. */
struct nearest {
	bool any;
	bool code;
	uint64_t start;
	struct question best; /* only name and claim are used */
};

struct kallsyms {
	struct batch *batch;
	struct nearest *nearest;
	bool seen, visible; /* any line; any address other than 0 */
	bool no_memory;
};

/* Names that mark the edge of a section and share their address with a real function. */
static bool is_edge(const char *name)
{
	static const char *const edges[] = {"_text", "_stext",	   "_etext",	  "_sinittext",
					    "_end",  "_einittext", "__init_begin"};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		if (!strcmp(name, edges[i]))
			return true;
	return (length > 11 && !strcmp(name + length - 11, "_text_start")) ||
	       (length > 9 && !strcmp(name + length - 9, "_text_end"));
}

/* "name\t[module]" to "name [module]", as perf and the kernel's own traces write it. */
static char *spell(const char *name, size_t length, const char *module)
{
	size_t module_length = module ? strlen(module) : 0;
	char *text = malloc(length + module_length + 2);

	if (!text)
		return NULL;
	memcpy(text, name, length);
	if (module)
		text[length++] = ' ';
	memcpy(text + length, module ? module : "", module_length + 1);
	return text;
}

static int parse_line(void *context, char *line)
{
	struct kallsyms *k = context;
	struct symbol_claim claim = {.kind = SYMBOL_FUNCTION};
	struct nearest *n;
	char *end, *name, *module, *text;
	size_t i;
	char type;

	claim.start = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return 0;
	k->seen = true;
	if (claim.start)
		k->visible = true;
	type = end[1];
	name = end + 3;
	i = batch_find(k->batch, claim.start);
	if (i == k->batch->count)
		return 0;
	n = &k->nearest[i];
	if (n->any && n->start > claim.start)
		return 0;
	if (!n->any || n->start < claim.start) {
		free(n->best.name);
		*n = (struct nearest){.any = true, .start = claim.start};
	}
	if (type != 't' && type != 'T' && type != 'w' && type != 'W')
		return 0;

	module = strchr(name, '\t');
	if (module)
		*module++ = 0;
	if (is_edge(name))
		claim.kind = SYMBOL_LABEL;
	claim.binding = type == 'T' ? 2 : type == 't' ? 0 : 1;
	text = spell(name, strlen(name), module);
	if (!text)
		return -ENOMEM;
	batch_set_name(&n->best, &claim, text);
	/* an edge alone is where code ends, not a function */
	n->code = n->best.claim.kind == SYMBOL_FUNCTION;
	return 0;
}

static int read_kallsyms(struct kallsyms *k, struct fail *why)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC), err;

	if (fd < 0) {
		err = -errno;
		return fail_errno(why, err, NULL, "/proc/kallsyms");
	}
	err = lines_of_fd(fd, UINT64_MAX, parse_line, k);
	close(fd);
	if (err < 0)
		return fail_errno(why, err, NULL, "reading /proc/kallsyms");
	if (!k->visible)
		return fail(why, -EPERM,
			    "run as root, with kernel.kptr_restrict below 2, or grant CAP_SYSLOG",
			    "the kernel hides the addresses of its functions (/proc/kallsyms)");
	return 0;
}

static void emit_names(const struct kallsyms *k, symbol_found *found, void *context)
{
	const struct nearest *last = NULL;

	for (size_t i = 0; i < k->batch->count; i++) {
		const struct question *q = &k->batch->at[i];
		struct symbol_name name = {0};

		if (k->nearest[i].any)
			last = &k->nearest[i];
		if (!last || !last->code || q->address - last->start >= REACH)
			continue;
		name.function = last->best.name;
		batch_emit(k->batch, q, &name, 1, found, context);
	}
}

int symbols_of_kernel(struct symbols *symbols, const uint64_t *addresses, size_t count,
		      symbol_found *found, void *context, struct fail *why)
{
	struct batch batch;
	struct kallsyms k = {.batch = &batch};
	int err;

	(void)symbols;
	if (batch_make(&batch, addresses, count))
		return fail_errno(why, -ENOMEM, NULL, "naming kernel functions");
	k.nearest = calloc(count + 1, sizeof(*k.nearest));
	err = k.nearest ? read_kallsyms(&k, why)
			: fail_errno(why, -ENOMEM, NULL, "naming kernel functions");
	if (!err)
		emit_names(&k, found, context);
	for (size_t i = 0; k.nearest && i < batch.count; i++)
		free(k.nearest[i].best.name);
	free(k.nearest);
	batch_free(&batch);
	return err;
}
