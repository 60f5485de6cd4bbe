/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/*
 * Binary search: the index of the first of count items for which passes is false, or count. The
 * items must be partitioned: passes is true for the first ones and false for the rest. passes is an
 * expression in which i names the index; it is evaluated about log2(count) times:
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
