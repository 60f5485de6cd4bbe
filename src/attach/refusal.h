/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_REFUSAL_H
#define ATTACH_REFUSAL_H

#include <stdbool.h>

/*
 * The program or map that the kernel refused, and why. libbpf reports both only in the text of its
 * warnings, and closes everything that it has loaded.
 */
struct refusal {
	char name[64];	 /* of the program or map; "": not known */
	char words[256]; /* the verifier's last line; else libbpf's warning */
	bool has_log;	 /* words come from the verifier */
};

/*
 * Clears *refusal. Until refusal_end(), libbpf's warnings in this thread are parsed into it instead
 * of printed.
 */
void refusal_begin(struct refusal *refusal);
void refusal_end(void);

/* Parses one warning. The last one that names a program or map counts. */
void refusal_read(struct refusal *refusal, const char *warning);

#endif
