/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_GPU_CALLS_H
#define INJECT_GPU_CALLS_H

/*
 * Functions of the driver by the ids of their callbacks (cupti_driver_cbid.h), which are the same in
 * all versions; a later one has more.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cuLaunchKernel, cuLaunchCooperativeKernel, cuGraphLaunch, cuLaunchKernelEx (cupti_driver_cbid.h) */
static const uint32_t launches[] = {307, 442, 477, 478, 514, 515, 652, 653};

static inline bool is_graph_launch(uint32_t id)
{
	return id == 514 || id == 515;
}

/* All of cuMemcpy… and cuMemset…, from the first id to the last one of each block. */
static const uint32_t copies[][2] = {{43, 82},	 {216, 227}, {248, 254}, {276, 293}, {305, 306},
				     {318, 321}, {397, 416}, {418, 433}, {776, 779}, {796, 799}};

/* Of these, cuMemcpy… and cuMemcpy…_ptds, which wait: all that is not called …Async or …Set. */
static const uint32_t copies_that_wait[][2] = {
	{43, 59},   {248, 248}, {276, 276}, {278, 278}, {280, 280}, {282, 282}, {284, 288},
	{290, 290}, {292, 292}, {305, 305}, {318, 318}, {320, 320}, {397, 410}};

/* cuCtxSynchronize, cuEventSynchronize, cuStreamSynchronize */
static const uint32_t waits[] = {17, 121, 126, 440, 800};

static inline bool is_copy_that_waits(uint32_t id)
{
	for (size_t i = 0; i < sizeof(copies_that_wait) / sizeof(copies_that_wait[0]); i++)
		if (id >= copies_that_wait[i][0] && id <= copies_that_wait[i][1])
			return true;
	return false;
}

static inline bool is_wait(uint32_t id)
{
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		if (waits[i] == id)
			return true;
	return false;
}

#endif
