// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/probes.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "bpf/memory/heap_abi.h"
#include "sources/loss_counts.h"
#include "attach/uprobes.h"
#include "bpf/probes.skel.h"

/* The most files of processes that are probed. */
#define TARGETS_MAX 64

/* A file of a process that has an allocator. */
struct target {
	pid_t pid;
	dev_t device;
	ino_t inode;
	int fd;
	char path[32];
	struct uprobe_place places[MEM_PLACES_MAX];
	size_t count;
	bool is_in;
};

struct mem_probes {
	enum mem_places_of of;
	struct probes *probes;
	struct uprobes *uprobes;
	vec(struct target) targets;
	uint64_t budget;		       /* us in a second */
	uint64_t window;		       /* when the present second began */
	uint64_t spent;			       /* up to there */
	uint64_t out_until, out_since, out_ns; /* out_until 0: they are in */
	uint64_t refused, failed, unknown;
	uint32_t groups;  /* of places, of all files: a place that is refused is so in its file */
	bool is_unbound;  /* this kernel cannot bind them to a process: nothing is probed */
	uint64_t unbound; /* files of processes that would have been */
};

_Static_assert((int)MEM_PLACES_MALLOC == MEM_HEAP_BUDGET_MALLOC &&
		       (int)MEM_PLACES_JAVA == MEM_HEAP_BUDGET_JAVA &&
		       (int)MEM_PLACES_GO == MEM_HEAP_BUDGET_GO &&
		       (int)MEM_PLACES_KINDS == MEM_HEAP_BUDGETS,
	       "each kind of places has a budget");

static struct uprobe_programs programs_of(const struct probes *probes, enum mem_places_of of)
{
	struct bpf_program *const sites[MEM_PLACES_KINDS] = {
		[MEM_PLACES_MALLOC] = probes->progs.mem_heap_call,
		[MEM_PLACES_JAVA] = probes->progs.mem_heap_object,
		[MEM_PLACES_GO] = probes->progs.mem_heap_span,
	};

	return (struct uprobe_programs){.site = sites[of]};
}

void mem_probes_prepare(struct probes *probes, uint64_t interval)
{
	struct uprobe_ways ways;

	uprobe_ways_probe(&ways);
	for (int of = 0; of < MEM_PLACES_KINDS; of++) {
		const struct uprobe_programs programs = programs_of(probes, of);

		uprobes_prepare(&programs, &ways);
	}
	probes->rodata->mem_heap_interval = interval;
	for (int i = 0; i < MEM_HEAP_DRAWS && interval > 1; i++)
		probes->rodata->mem_heap_draws[i] =
			(uint64_t)(-log((i + 0.5) / MEM_HEAP_DRAWS) * (double)interval);
}

int mem_probes_new(struct probes *probes, enum mem_places_of of, unsigned int percent,
		   struct mem_probes **result)
{
	const struct uprobe_programs programs = programs_of(probes, of);
	struct mem_probes *new;
	struct uprobe_ways ways;
	int err;

	uprobe_ways_probe(&ways);
	new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	/* all programs call malloc(); what other JVMs have of their probes is little */
	new->is_unbound = of != MEM_PLACES_JAVA &&ways.multi && !ways.pid_filter;
	new->of = of;
	new->probes = probes;
	new->budget = percent * 10000ull;
	new->window = clock_ns();
	probes->bss->mem_heap_limit[of] = new->budget;
	err = new->is_unbound ? 0 : uprobes_new(&programs, &ways, &new->uprobes);
	if (err)
		free(new);
	else
		*result = new;
	return err;
}

void mem_probes_detach(struct mem_probes *probes)
{
	if (probes->uprobes)
		uprobes_free(probes->uprobes);
	probes->uprobes = NULL;
}

static void free_target(struct target *target)
{
	close(target->fd);
}

void mem_probes_free(struct mem_probes *probes)
{
	if (!probes)
		return;
	mem_probes_detach(probes);
	vec_foreach (&probes->targets, target)
		free_target(target);
	vec_free(&probes->targets);
	free(probes);
}

/* -- in and out -------------------------------------------------------------------------------- */

static void put_in(struct mem_probes *probes, struct target *target)
{
	struct fail why = {0};
	int err;

	if (target->is_in || !probes->uprobes)
		return;
	err = uprobes_attach(probes->uprobes, target->path, target->pid, target->places,
			     target->count, &why);
	target->is_in = !err;
	probes->failed += err && err != -ESRCH;
}

static void detach(struct mem_probes *probes, struct target *target)
{
	if (target->is_in && probes->uprobes)
		uprobes_detach(probes->uprobes, target->path, target->pid);
	target->is_in = false;
}

bool mem_probes_image(struct mem_probes *probes, pid_t pid, const struct image *image)
{
	struct target target = {.pid = pid};
	bool is_refused;

	if (!probes->uprobes && !probes->is_unbound)
		return false;
	vec_foreach (&probes->targets, known)
		if (known->pid == pid && known->device == image->device &&
		    known->inode == image->inode)
			return true;
	target.count = mem_places_find(probes->of, image, target.places, &is_refused);
	probes->unknown += is_refused;
	if (!target.count)
		return false;
	target.device = image->device;
	target.inode = image->inode;
	target.fd = file_place(image->fd);
	snprintf(target.path, sizeof(target.path), "/proc/self/fd/%d", target.fd);
	if (target.fd < 0 || probes->targets.count == TARGETS_MAX ||
	    !vec_push(&probes->targets, target)) {
		if (target.fd >= 0)
			close(target.fd);
		probes->refused++;
		return false;
	}
	for (size_t i = 0; i < target.count; i++)
		vec_last(&probes->targets)->places[i].group = probes->groups++;
	probes->unbound += probes->is_unbound;
	if (!probes->out_until)
		put_in(probes, vec_last(&probes->targets));
	return true;
}

void mem_probes_gone(struct mem_probes *probes, pid_t pid)
{
	for (size_t i = probes->targets.count; i-- > 0;) {
		struct target *target = &probes->targets.at[i];

		if (target->pid != pid)
			continue;
		detach(probes, target);
		free_target(target);
		*target = *vec_last(&probes->targets);
		probes->targets.count--;
	}
}

static void all_out(struct mem_probes *probes, uint64_t now, uint64_t taken)
{
	/* as long as it takes until what they took is no more than their budget */
	uint64_t owed = taken * SECOND_NS / probes->budget, until = probes->window + owed;

	vec_foreach (&probes->targets, target)
		detach(probes, target);
	probes->out_since = now;
	probes->out_until = until > now ? until : now + 1;
}

static void all_in(struct mem_probes *probes, uint64_t now)
{
	probes->out_ns += now - probes->out_since;
	probes->out_until = 0;
	vec_foreach (&probes->targets, target)
		put_in(probes, target);
}

void mem_probes_balance(struct mem_probes *probes, uint64_t now)
{
	uint64_t spent =
		__atomic_load_n(&probes->probes->bss->mem_heap_spent[probes->of], __ATOMIC_RELAXED);
	uint64_t taken = spent - probes->spent;

	if (!probes->out_until && taken >= probes->budget)
		all_out(probes, now, taken);
	else if (probes->out_until ? now < probes->out_until : now - probes->window < SECOND_NS)
		return;
	else {
		if (probes->out_until)
			all_in(probes, now);
		probes->window = now;
		probes->spent = spent;
		__atomic_store_n(&probes->probes->bss->mem_heap_limit[probes->of],
				 spent + probes->budget, __ATOMIC_RELAXED);
	}
}

/* Words of what was not seen. */
static const struct words {
	const char *out, *failed, *refused, *unbound, *unknown;
} words[MEM_PLACES_KINDS] = {
	[MEM_PLACES_MALLOC] =
		{
			"allocations not seen, ms: the probes were out, to keep to their budget "
			"(--mem-budget)",
			"allocations of a process not seen: its allocator cannot be probed",
			"allocations of a process not seen: too many of them",
			"allocations of a process not seen: Linux 6.6 to 6.9 cannot bind the "
			"probes of its allocator to it",
			"allocations of a process not seen: its functions are not found",
		},
	[MEM_PLACES_JAVA] =
		{
			"Java objects not seen, ms: the probes were out, to keep to their budget "
			"(--mem-budget)",
			"Java objects of a process not seen: its JVM cannot be probed",
			"Java objects of a process not seen: too many of them",
			"Java objects of a process not seen: Linux 6.6 to 6.9 cannot bind probes "
			"to it",
			"Java objects of a process not seen: its libjvm.so has no table of all "
			"symbols",
		},
	[MEM_PLACES_GO] =
		{
			"spans of a program of Go not seen, ms: the probes were out, to keep to "
			"their budget (--mem-budget)",
			"spans of a program of Go not seen: it cannot be probed",
			"spans of a program of Go not seen: too many programs",
			"spans of a program of Go not seen: Linux 6.6 to 6.9 cannot bind probes "
			"to it",
			"spans of a program of Go not seen: its functions are not found",
		},
};

void mem_probes_report(const struct mem_probes *probes, struct film_writer *film, uint32_t event)
{
	uint64_t out = probes->out_ns + (probes->out_until ? clock_ns() - probes->out_since : 0);
	const struct loss_count losses[] = {
		{words[probes->of].failed, probes->failed},
		{words[probes->of].refused, probes->refused},
		{words[probes->of].unbound, probes->unbound},
		{words[probes->of].unknown, probes->unknown},
	};

	if (out >= 1000000)
		film_unseen(film, event, words[probes->of].out, out / 1000000);
	loss_counts_emit_all(film, event, losses);
}
