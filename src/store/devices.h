/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_DEVICES_H
#define STORE_DEVICES_H

#include "query/device_lanes.h"
#include "store/ask.h"

/*
 * What streams of devices ran: answered by films, as store_lanes(). Of lanes the caller sets pixel
 * and all else to 0; its time becomes that of the ask. To be freed with device_lanes_free(), also
 * after a failure. Returns 0 or a negative errno with *why filled.
 */
int store_devices(struct store *store, const struct store_ask *ask, struct device_lanes *lanes,
		  struct store_sum *sum, struct fail *why);

#endif
