// SPDX-License-Identifier: Apache-2.0
#include "show/palette.h"

#include <math.h>

#include "film/film.h"

/* kinds, changes (from blue, shrank, to red, grew; the middle is the same), step_points */
#include "palette_colours.h"

unsigned int palette_kind_slot(unsigned int kind)
{
	const unsigned int first_language = FILM_FRAME_PYTHON;

	if (kind < PALETTE_KINDS)
		return kind;
	/* of a later version */
	return first_language + (kind - first_language) % (PALETTE_KINDS - first_language);
}

/* Moves a colour away from the text on it, once per shade: to white, or to black in the dark. */
static uint32_t shaded(uint32_t colour, enum palette_theme theme, unsigned int shade)
{
	const uint32_t end = theme == PALETTE_LIGHT ? 0xff : 0;
	uint32_t parts = shade % PALETTE_SHADES * 9, result = 0;
	int shift;

	for (shift = 16; shift >= 0; shift -= 8) {
		uint32_t part = colour >> shift & 0xff;

		result |= (part * (100 - parts) + end * parts) / 100 << shift;
	}
	return result;
}

uint32_t palette_kind(enum palette_theme theme, unsigned int slot, unsigned int shade)
{
	return shaded(kinds[theme][slot % PALETTE_KINDS], theme, shade);
}

uint32_t palette_change(enum palette_theme theme, int step)
{
	return changes[theme][step + PALETTE_STEPS];
}

int palette_change_step(double change)
{
	double points = fabs(change) * 100;
	int step = 0;

	while (step < PALETTE_STEPS && points >= step_points[step])
		step++;
	return change < 0 ? -step : step;
}

double palette_step_points(int step)
{
	return step_points[step - 1];
}
