// SPDX-License-Identifier: Apache-2.0
#include "show/palette.h"

#include <math.h>

static const uint32_t kinds[][PALETTE_KINDS] = {
	[PALETTE_LIGHT] = {0xdfe3e8, 0xf5b95f, 0x8ec5ea, 0x6cc5a3, 0xc4c4c4, 0xdba3c5, 0xeee27c,
			   0xec9a70},
	[PALETTE_DARK] = {0x3d434d, 0xa36516, 0x2d6ea0, 0x1d785a, 0x5d5d5d, 0x8f4b77, 0x7a701d,
			  0xa5502a},
};

static const uint32_t images[][PALETTE_IMAGES] = {
	[PALETTE_LIGHT] = {0xf5b95f, 0x8ec5ea, 0x6cc5a3, 0xdba3c5, 0xeee27c, 0xec9a70, 0x8fa6e0,
			   0xb7bd82, 0xd3d6da},
	[PALETTE_DARK] = {0xa36516, 0x2d6ea0, 0x1d785a, 0x8f4b77, 0x7a701d, 0xa5502a, 0x4f5fb0,
			  0x5f6a35, 0x50555d},
};

/* from blue (shrank) to red (grew); the middle is no change */
static const uint32_t changes[][2 * PALETTE_STEPS + 1] = {
	[PALETTE_LIGHT] = {0x5795cc, 0x85b5de, 0xafd0ec, 0xd6e7f5, 0xe9e9e9, 0xfbdccd, 0xf6b99f,
			   0xee9072, 0xe2664f},
	[PALETTE_DARK] = {0x2f78b8, 0x2d689b, 0x2f5577, 0x334556, 0x464a50, 0x58403b, 0x7d453a,
			  0xa54a39, 0xce4f39},
};

static const uint32_t match[] = {[PALETTE_LIGHT] = 0x9c27b0, [PALETTE_DARK] = 0xe07bf0};

static const double step_points[PALETTE_STEPS] = {0.1, 0.5, 2, 10};

unsigned int palette_kind_slot(unsigned int kind)
{
	const unsigned int first_to_come = 5;

	if (kind < first_to_come)
		return kind;
	return first_to_come + (kind - first_to_come) % (PALETTE_KINDS - first_to_come);
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

uint32_t palette_image(enum palette_theme theme, unsigned int rank, unsigned int shade)
{
	return shaded(images[theme][rank < PALETTE_IMAGES ? rank : PALETTE_IMAGES - 1], theme,
		      shade);
}

uint32_t palette_change(enum palette_theme theme, int step)
{
	return changes[theme][step + PALETTE_STEPS];
}

uint32_t palette_match(enum palette_theme theme)
{
	return match[theme];
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
