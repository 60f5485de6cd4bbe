// SPDX-License-Identifier: Apache-2.0
/* How writes to /dev/null are seen (bpf/requests_marker.h). */
#include "camera/requests/marker_probes.h"

#include <bpf/libbpf.h>

#include "camera/feature.h"
#include "probes.skel.h"

enum {
	MARKERS_NEVER,
	MARKERS_FREE,	/* where other system calls cost nothing more */
	MARKERS_ALWAYS, /* else as each of them ends */
};

const struct source_option requests_marker_options[] = {
	{
		.name = "markers",
		.argument = "0|1|2",
		.help = "of requests: those that programs mark by lines to /dev/null; 0: none; "
			"1 (default): where the kernel shows such writes alone; 2: also where "
			"each system call of the machine is looked at for it",
		.least = MARKERS_NEVER,
		.most = MARKERS_ALWAYS,
		.usual = MARKERS_FREE,
	},
	{0},
};

void requests_marker_prepare(struct probes *probes, uint64_t where)
{
	struct feature feature = {.state = FEATURE_MISSING};
	bool has;

	if (where != MARKERS_NEVER)
		feature_probe(FEATURE_NULL_DEVICE, &feature);
	has = feature.state == FEATURE_OK;
	bpf_program__set_autoload(probes->progs.requests_marked_write, has);
	bpf_program__set_autoload(probes->progs.requests_marked_pieces, has);
	bpf_program__set_autoload(probes->progs.requests_marked_call,
				  !has && where == MARKERS_ALWAYS);
}
