/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_LINKS_H
#define ATTACH_LINKS_H

#include <bpf/libbpf.h>

#include "base/fail.h"
#include "base/vec.h"

/* The attached programs of one owner, which are detached together. All zero is empty. */
struct links {
	vec(struct bpf_link *) all;
};

/*
 * Attaches the programs to the places that they name themselves, in their order; those that were
 * not loaded are passed over. what completes "cannot": "record requests". Returns 0 or a negative
 * errno with *why filled; links_free() is needed in either case.
 */
int links_attach(struct links *links, struct bpf_program *const *programs, size_t count,
		 const char *what, struct fail *why);
void links_free(struct links *links);

#endif
