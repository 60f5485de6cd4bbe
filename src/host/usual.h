/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_USUAL_H
#define HOST_USUAL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A part of the time, in percent, at looks about a second apart: what is usual, and does it jump?
 * Usual is the mean of the looks before, in which the last minute counts most; nothing is usual at
 * the first five. All zero: nothing is known.
 */
struct usual {
	double percent;
	unsigned int looks, above;
	bool is_told;
};

/*
 * Takes the percent of a look. Returns true where it jumped: at three looks in a row it was twice
 * as much as usual, and `more` points more; once, until it has come down again.
 */
bool usual_jumps(struct usual *usual, double percent, uint32_t more);

#endif
