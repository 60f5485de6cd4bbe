/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_SLOTS_H
#define INJECT_SLOTS_H

#include "memory_places.h"

/* Changes words that have what they are to be changed from, and sets the result of each. */
void slots_change(struct memory_slot *slots, uint64_t count);

#endif
