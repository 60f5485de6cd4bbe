/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_STORE_H
#define TESTS_FAKE_STORE_H

#include "store/store.h"

extern const char fake_hostile[];

void fake_release(void);	  /* lets all go on that asked for service=block, now and later */
unsigned int fake_blocked(void);  /* how many wait */
unsigned int fake_given_up(void); /* how many ended as no client waited */

#endif
