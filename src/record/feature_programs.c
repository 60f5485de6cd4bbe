// SPDX-License-Identifier: Apache-2.0
/* What could be recorded is loaded once: a kernel with all features may refuse a program. */
#include "record/feature_programs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "attach/feature_probes.h"
#include "record/loaded.h"
#include "record/sources.h"
#include "process/far_files.h"

struct heard {
	char words[200];
	size_t length;
};

static void hear(void *context, const char *words)
{
	struct heard *heard = context;

	if (heard->length < sizeof(heard->words))
		heard->length += (size_t)snprintf(heard->words + heard->length,
						  sizeof(heard->words) - heard->length, "%s%s",
						  heard->length ? "; " : "", words);
}

static int load(struct heard *heard, struct fail *why)
{
	const struct selection everything = {.whole_machine = true};
	struct source_host host = {.selection = &everything};
	struct sources sources = {0};
	struct loaded loaded = {0};
	struct loading loading = {
		.sources = &sources,
		.cpus = (unsigned int)libbpf_num_possible_cpus(),
		.online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN),
		.loads_once = true,
		.verbose = true,
		.say = hear,
		.say_context = heard,
	};
	int err = far_files_new(&host.far);

	if (err)
		return fail_errno(why, err, NULL, "cannot be tried");
	sources_make_possible(&sources, &host);
	err = loaded_new(&loading, &loaded, why);
	sources_free(&sources);
	loaded_free(&loaded);
	far_files_free(host.far);
	return err;
}

void feature_try_programs(struct feature *feature)
{
	struct heard heard = {0};
	struct fail why = {0};

	/* nothing is left that could be recorded */
	feature->required = load(&heard, &why) != 0;
	if (feature->required)
		feature_is_missing(feature, why.err, why.to_do, "%s", why.what);
	else if (heard.length)
		feature_is_missing(feature, -EOPNOTSUPP, NULL, "%s", heard.words);
	else
		feature_is_ok(feature, "the kernel accepts all of them");
}
