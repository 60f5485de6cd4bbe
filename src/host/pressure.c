// SPDX-License-Identifier: Apache-2.0
#include "host/pressure.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "process/procfs.h"

static const struct {
	const char *file, *words;
} kinds[PRESSURES] = {
	[PRESSURE_MEMORY] = {"memory", "memory"},
	[PRESSURE_DISKS] = {"io", "disks"},
};

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123" */
static bool read_total(const char *folder, const char *file, uint64_t *total)
{
	struct buf text = {0};
	char path[256];
	bool is_read;

	snprintf(path, sizeof(path), "%s/%s", folder, file);
	is_read = !procfs_read_file(path, 4096, &text) &&
		  sscanf((const char *)text.at, "some %*s %*s %*s total=%" SCNu64, total) == 1;
	buf_free(&text);
	return is_read;
}

void pressure_look(struct pressure *pressure, const char *folder, uint64_t now, uint32_t more,
		   const struct happening_listener *listener)
{
	for (int kind = 0; kind < PRESSURES; kind++) {
		struct pressure_of *of = &pressure->of[kind];
		struct pressure_of last = *of;
		double percent;

		of->is_known = read_total(folder, kinds[kind].file, &of->total);
		of->at = now;
		if (!of->is_known || !last.is_known || of->total < last.total || now <= last.at)
			continue;
		percent = (double)(of->total - last.total) * 1e5 / (double)(now - last.at);
		if (usual_jumps(&of->usual, percent, more))
			listener->happened(listener->context,
					   &(struct happening){
						   .kind = HAPPENING_PRESSURE,
						   .time = now,
						   .what = kinds[kind].words,
						   .percent = (uint32_t)percent,
						   .usual = (uint32_t)last.usual.percent,
					   });
	}
}
