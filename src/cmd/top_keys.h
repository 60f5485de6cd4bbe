/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TOP_KEYS_H
#define CMD_TOP_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/summary.h"

/* What the keys of stackcam top have chosen. All zero: everything, largest first. */
struct top_keys {
	bool is_stopped, has_help;
	enum summary_order order;
	bool is_reversed;
	uint32_t event;	    /* only this event of the film; 0: all */
	char processes[64]; /* a glob for names, or a pid; "": all. What a user typed: not safe */
	bool is_typing;	    /* keys are text that replaces processes once it is complete */
	char typed[64];
};

enum top_action {
	TOP_DRAW,
	TOP_SUM_UP, /* the film, as other findings are wanted; then draw */
	TOP_END,
};

/*
 * Handles the keys that were read at once: a key may be some bytes, as terminals send them.
 * summary: what is shown; null: nothing yet.
 */
enum top_action top_keys_press(struct top_keys *keys, const char *bytes, size_t count,
			       const struct summary *summary);

/* Sets question's filter to the chosen processes, whose text must live as long. 0 or -ENOMEM. */
int top_keys_filter(const struct top_keys *keys, struct question *question);

/* The help for keys, for a screen. */
extern const char top_keys_help[];

#endif
