// SPDX-License-Identifier: Apache-2.0
#include "runtime/go/records.h"

#include <stddef.h>

/*
 * Taken from the debug information of programs that each version has built. The records are in Go's
 * source in runtime/runtime2.go.
 */
static const struct go_records versions[] = {
	{17, 20, 48, 360, 192, 152, GO_LABELS_MAP},  {21, 22, 48, 344, 192, 152, GO_LABELS_MAP},
	{23, 23, 48, 352, 192, 160, GO_LABELS_MAP},  {24, 24, 48, 352, 192, 160, GO_LABELS_LIST},
	{25, 25, 40, 344, 184, 152, GO_LABELS_LIST}, {26, 27, 40, 352, 184, 152, GO_LABELS_LIST},
};

const struct go_records *go_records_of(uint32_t minor)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (minor >= versions[i].first && minor <= versions[i].last)
			return &versions[i];
	return NULL;
}
