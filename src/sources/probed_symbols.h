/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_PROBED_SYMBOLS_H
#define SOURCES_PROBED_SYMBOLS_H

#include "probe/functions.h"
#include "sources/probed_images.h"

/* What a source probes in a library: functions of these symbols. */
struct probed_symbols {
	const char *const *libraries; /* how names of its file begin, up to a null */
	size_t count;		      /* of the symbols */
	const char *(*symbol)(size_t number);
	/* As in struct probe_question. */
	bool stays;
	/*
	 * A function of symbol(number), of which a file may have several versions: adds its places.
	 * Returns 0 or -ENOMEM.
	 */
	int (*add)(struct probed_look *look, const struct probe_function *function, size_t number);
	const char *none; /* completes the file's name, if no place was added */
};

/* Looks at a file, as probed_kind.look. */
int probed_symbols_look(const struct probed_symbols *symbols, struct probed_look *look,
			struct fail *why);

#endif
