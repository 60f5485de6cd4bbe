// SPDX-License-Identifier: Apache-2.0
#include "host/usual.h"

enum {
	LOOKS_BEFORE = 5, /* until something is usual */
	LOOKS_ABOVE = 3,  /* for a jump */
	LOOKS_USUAL = 60, /* that what is usual is the mean of, about */
};

bool usual_jumps(struct usual *usual, double percent, uint32_t more)
{
	bool is_above = usual->looks >= LOOKS_BEFORE && percent >= usual->percent + more &&
			percent >= 2 * usual->percent;
	unsigned int weight = usual->looks < LOOKS_USUAL ? usual->looks + 1 : LOOKS_USUAL;
	bool jumped;

	usual->above = is_above ? usual->above + 1 : 0;
	jumped = usual->above >= LOOKS_ABOVE && !usual->is_told;
	usual->is_told = is_above && (usual->is_told || jumped);
	/* a jump that stays becomes usual, in its time */
	usual->percent += (percent - usual->percent) / (is_above ? LOOKS_USUAL : weight);
	usual->looks++;
	return jumped;
}
