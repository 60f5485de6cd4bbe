// SPDX-License-Identifier: Apache-2.0
#include "record/loaded.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "bpf/capture/abi.h"
#include "attach/holds.h"
#include "attach/feature.h"
#include "attach/filter.h"
#include "attach/kernel_types.h"
#include "attach/refusal.h"
#include "record/sources.h"
#include "attach/walkers.h"
#include "bpf/probes.skel.h"

/* Stacks that can be handed over at the same moment, 64 KiB each; one per CPU on most machines. */
#define COPIES_MAX 32u

/* CPUs that have memory of their own for stacks in the making; on larger machines some share. */
#define SCRATCH_CPUS_MAX 256

/* "the kernel refuses NAME: WORDS" */
static void put_words(const struct loading *loading, const struct refusal *refusal, char *to,
		      size_t size)
{
	snprintf(to, size, "the kernel refuses %s%s%s", refusal->name,
		 loading->verbose ? ": " : " (--verbose shows why)",
		 loading->verbose ? refusal->words : "");
}

static int load_failed(const struct loading *loading, int err, const struct refusal *refusal,
		       struct fail *why)
{
	struct source *source;
	char words[384], events[128];
	int missing;

	/* then no feature can be tried, either */
	if (err == -EMFILE)
		return fail_errno(why, err, NULL, "cannot load the probes");
	missing = features_explain(why);
	if (missing)
		return missing;
	if (!refusal->name[0])
		return fail_errno(why, err, "see 'stackcam doctor'",
				  "cannot load the probes, although nothing that they need is "
				  "missing");
	put_words(loading, refusal, words, sizeof(words));
	source = sources_owner(loading->sources, refusal->name);
	if (!source)
		return fail(why, -EOPNOTSUPP, NULL, "cannot record: %s", words);
	source_event_names(source, events, sizeof(events));
	return fail(why, -EOPNOTSUPP, NULL, "cannot record %s: %s", events, words);
}

static bool needs(const struct loading *loading, enum source_needs what)
{
	return sources_needs(loading->sources) & what;
}

/*
 * Whether the steps of all runtimes are loaded before the first event, instead of each when a
 * process turns out to have it (walkers.h): where they cannot be later, and where the first events
 * of what is executed later may not lack frames.
 */
static bool loads_runtimes_at_once(const struct loading *loading)
{
	const struct selection *selection = loading->sources->host.selection;

	return loading->loads_once || (needs(loading, SOURCE_RUNTIMES) && selection->command);
}

static void prepare_memory(const struct loading *loading, struct probes *probes)
{
	unsigned int cpus = loading->cpus;

	bpf_map__set_max_entries(probes->maps.capture_rings, cpus);
	probes->rodata->capture_copies = cpus < COPIES_MAX ? cpus : COPIES_MAX;
	bpf_map__set_max_entries(probes->maps.capture_copy_map, probes->rodata->capture_copies);
	probes->rodata->capture_cpus = cpus < SCRATCH_CPUS_MAX ? cpus : SCRATCH_CPUS_MAX;
	bpf_map__set_max_entries(probes->maps.capture_scratch_map,
				 CAPTURE_SCRATCHES * probes->rodata->capture_cpus + CAPTURE_SPARES);
	bpf_map__set_max_entries(probes->maps.capture_rule_cache_map, probes->rodata->capture_cpus);
}

static void prepare_holds(const struct loading *loading, const struct loaded *loaded,
			  struct probes *probes)
{
	struct holds_libraries libraries = {0};

	if (!needs(loading, SOURCE_IMAGES) || loaded->without_holds) {
		holds_leave_out(probes);
		return;
	}
	libraries.any = !sources_libraries(loading->sources, libraries.names,
					   sizeof(libraries.names) / sizeof(libraries.names[0]),
					   &libraries.count);
	holds_prepare(probes, loading->sources->host.selection, &libraries);
}

/* Opens the programs that are needed, and loads them and what follows walks. */
static int load(const struct loading *loading, struct loaded *loaded)
{
	struct source_host *host = &loading->sources->host;
	struct probes *probes = kernel_types_open(loaded->types);
	bool maps = needs(loading, SOURCE_STACKS) && !loaded->without_mappings;
	int err;

	host->probes = loaded->probes = probes;
	if (!probes)
		return -errno;
	probes->rodata->want_user = !host->kernel_only;
	probes->rodata->want_kernel = !host->user_only;
	filter_prepare(probes, host->selection);
	sources_prepare(loading->sources, loading->online);
	bpf_program__set_autoload(probes->progs.mapping_placed, maps);
	prepare_holds(loading, loaded, probes);
	prepare_memory(loading, probes);
	walkers_prepare(probes);
	err = probes__load(probes);
	if (err || !needs(loading, SOURCE_STACKS))
		return err;
	return walkers_new(probes, loaded->types, &loaded->walkers);
}

static void unload(struct loaded *loaded)
{
	walkers_free(loaded->walkers);
	probes__destroy(loaded->probes);
	loaded->walkers = NULL;
	loaded->probes = NULL;
}

/* One that belongs to all sources, and that a recording can do without. False: another one. */
static bool leave_out_ours(struct loaded *loaded, const char *name, char *lacks, size_t size)
{
	if (!strncmp(name, "hold_", 5) && !loaded->without_holds) {
		loaded->without_holds = true;
		snprintf(lacks, size, "programs and libraries that start later are not probed");
		return true;
	}
	if (!strcmp(name, "mapping_placed") && !loaded->without_mappings) {
		loaded->without_mappings = true;
		snprintf(lacks, size, "stacks may be wrong for a moment where code is mapped over");
		return true;
	}
	return false;
}

/* What is refused is left out from now on, and that is said. False: nothing is left without it. */
static bool leave_out(const struct loading *loading, struct loaded *loaded,
		      const struct refusal *refusal)
{
	struct source *source = sources_owner(loading->sources, refusal->name);
	char lacks[160], words[384], sentence[576];

	if (source) {
		size_t length = (size_t)snprintf(lacks, sizeof(lacks), "cannot record ");

		source_event_names(source, lacks + length, sizeof(lacks) - length);
		if (!sources_leave_out(loading->sources, source))
			return false;
	} else if (!leave_out_ours(loaded, refusal->name, lacks, sizeof(lacks))) {
		return false;
	}
	put_words(loading, refusal, words, sizeof(words));
	snprintf(sentence, sizeof(sentence), "%s: %s", lacks, words);
	if (loading->say)
		loading->say(loading->say_context, sentence);
	return true;
}

int loaded_new(const struct loading *loading, struct loaded *loaded, struct fail *why)
{
	struct refusal refusal;
	struct fail refused;
	int err;

	*loaded = (struct loaded){.types = kernel_types_new()};
	loading->sources->host.types = kernel_types_all(loaded->types);
	do {
		unload(loaded);
		refusal_begin(&refusal);
		err = load(loading, loaded);
		refusal_end();
	} while (err && err != -EPERM && err != -EMFILE && leave_out(loading, loaded, &refusal));
	loading->sources->host.types = NULL;
	kernel_types_forget(loaded->types);
	if (err)
		return load_failed(loading, err, &refusal, why);
	/* a refusal is reported where a process needs it; where nothing can be loaded then, here */
	if (loads_runtimes_at_once(loading) &&
	    walkers_need(loaded->walkers, WALKERS_ALL, &refused) && loading->loads_once &&
	    loading->say)
		loading->say(loading->say_context, refused.what);
	if (loading->loads_once)
		kernel_types_opened(loaded->types);
	return 0;
}

void loaded_free(struct loaded *loaded)
{
	unload(loaded);
	kernel_types_free(loaded->types);
	loaded->types = NULL;
}
