/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_TOP_H
#define SHOW_TOP_H

#include <stdio.h>

#include "query/summary.h"

/* A screen of what took most in the last seconds, for terminals: stackcam top. */
struct top_screen {
	unsigned int rows, columns; /* of the terminal; 0: as many as it takes */
	const char *head;	    /* the first line, in plain text */
	const char *choice;	    /* the second one; "": none */
	const char *help;	    /* lines in place of what was recorded; null: none */
	uint32_t event;		    /* only this event of the film; 0: all */
};

/*
 * Writes the lines of a screen, each cut to its width, no more than fit. summary: null before the
 * first seconds are over; its findings of a kind may be more than fit. 0 or -ENOMEM.
 */
int show_top(const struct summary *summary, const struct top_screen *screen, FILE *out);

#endif
