/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/*
 * How many of count sorted things, from the first on, pass a test that none after them passes; that
 * is also the index of the first one that fails it, or count. i is the name of the index in the
 * expression passes, which is evaluated log2(count) times:
 *
 *	first = search_first(list.count, i, list.at[i].address < address);
 */
#define search_first(count, i, passes)                                             \
	({                                                                         \
		size_t search_low_ = 0, search_high_ = (count);                    \
                                                                                   \
		while (search_low_ < search_high_) {                               \
			size_t i = search_low_ + (search_high_ - search_low_) / 2; \
                                                                                   \
			if (passes)                                                \
				search_low_ = i + 1;                               \
			else                                                       \
				search_high_ = i;                                  \
		}                                                                  \
		search_low_;                                                       \
	})

#endif
