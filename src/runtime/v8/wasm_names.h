/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_V8_WASM_NAMES_H
#define RUNTIME_V8_WASM_NAMES_H

/*
 * What the functions of a module of WebAssembly are called, from its binary form (WebAssembly Core
 * Specification, 5.5): by the section "name" (7.4.1), else by how they are exported or imported.
 */

#include "base/map.h"
#include "base/vec.h"

/* More functions than engines take (the limits of the JavaScript API). */
#define WASM_FUNCTIONS_MAX 1000000u

/* All zero is empty; a function is counted with those that are imported, which come first. */
struct wasm_names {
	struct map by_function; /* where its name begins in text */
	vec(char) text;		/* names, each with a zero behind it */
};

/* Reads bytes of the module: 0 or an error. */
typedef int (*wasm_read)(void *context, void *to, size_t size, uint64_t offset);

/*
 * Reads the names of a module of size bytes, which may be anything. 0, or -EINVAL (not a module),
 * -ENOMEM, or what read() returned. A section that is malformed or too large names nothing.
 */
int wasm_names_read(struct wasm_names *names, uint64_t size, wasm_read read, void *context);

void wasm_names_free(struct wasm_names *names);

/* Null: it has none. The text lives as long as names. */
const char *wasm_names_of(const struct wasm_names *names, uint32_t function);

#endif
