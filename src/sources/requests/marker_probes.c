// SPDX-License-Identifier: Apache-2.0
/* How writes to /dev/null are seen (bpf/requests/marker.h). */
#include "sources/requests/marker_probes.h"

#include <bpf/libbpf.h>

#include "attach/feature.h"
#include "bpf/probes.skel.h"

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

void requests_marker_say(const struct source_host *host, uint64_t where)
{
	if (where == MARKERS_FREE && host->say &&
	    !bpf_program__autoload(host->probes->progs.requests_marked_write))
		host->say(host->say_context,
			  "requests that programs mark by lines to /dev/null are not recorded: "
			  "this kernel shows them only where each system call of the machine is "
			  "looked at; --markers 2 does that");
}
