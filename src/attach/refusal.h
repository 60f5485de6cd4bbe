/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTACH_REFUSAL_H
#define ATTACH_REFUSAL_H

#include <stdbool.h>

/*
 * Which of our programs or maps the kernel has refused, and why: libbpf says it in the words of its
 * warnings alone, and closes all that it has loaded.
 */
struct refusal {
	char name[64];	 /* of the program or map; "": none was named */
	char words[256]; /* the verifier's last line; else libbpf's warning */
	bool has_log;	 /* words are the verifier's */
};

/*
 * Until refusal_end(), libbpf's warnings in this thread become *refusal, which is cleared first,
 * and nothing is printed.
 */
void refusal_begin(struct refusal *refusal);
void refusal_end(void);

/* One warning. The last one that names something counts. */
void refusal_read(struct refusal *refusal, const char *warning);

#endif
