// SPDX-License-Identifier: Apache-2.0
#include "host/say_rarely.h"

#define EACH_NS 60000000000ull

bool say_rarely(struct say_rarely *of, uint64_t time, uint64_t *more)
{
	*more = of->more;
	if (time < of->next) {
		of->more++;
		return false;
	}
	of->next = time + EACH_NS;
	of->more = 0;
	return true;
}
