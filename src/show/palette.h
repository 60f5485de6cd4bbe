/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_PALETTE_H
#define SHOW_PALETTE_H

#include <stdint.h>

/*
 * The colours of flame graphs, one table (palette.json) for SVG and for the pages. Colours are
 * 0xRRGGBB. The hues follow Okabe and Ito ("Color Universal Design", 2008), which stay apart for
 * people with the common kinds of colour blindness; red against blue (ColorBrewer's RdBu) shows
 * change for the same reason.
 */
enum palette_theme {
	PALETTE_LIGHT,
	PALETTE_DARK
};

enum {
	PALETTE_KINDS = 10, /* group, and the kinds of frames (enum film_frame_kind) */
	PALETTE_SHADES = 4, /* of each of those, so that neighbours can be told apart */
	PALETTE_STEPS = 4,  /* of growing and of shrinking */
};

/* The slot below PALETTE_KINDS for a kind of frame (enum film_frame_kind, 0: group). */
unsigned int palette_kind_slot(unsigned int kind);

uint32_t palette_kind(enum palette_theme theme, unsigned int slot, unsigned int shade);

/* step is -PALETTE_STEPS (shrank much) … 0 (same) … PALETTE_STEPS (grew much). */
uint32_t palette_change(enum palette_theme theme, int step);

/* The step for a change of share (after minus before, each a part of one). */
int palette_change_step(double change);

/* The smallest change of share, in percentage points, that reaches step 1 … PALETTE_STEPS. */
double palette_step_points(int step);

#endif
