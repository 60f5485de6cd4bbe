// SPDX-License-Identifier: Apache-2.0
#include "attach/uprobes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/map.h"
#include "base/vec.h"
#include "attach/closing.h"
#include "attach/feature.h"
#include "attach/uprobe_link.h"
#include "attach/uprobe_perf.h"

/*
 * Places of a link, a compromise: when a link goes, the kernel waits about 40 ms until no probe
 * runs any more; to take one group out, all of its chunk are attached anew, at about 5 µs for each.
 */
#define CHUNK_PLACES 12288u

/* What the places of a chunk have in common: the program, and when it runs. */
enum way {
	WAY_RETURN,  /* site, when a function has returned */
	WAY_SITE,    /* site, where it begins or ends */
	WAY_SESSION, /* session, at both */
};

/* The order in which places are attached, so that no function begins whose end is not seen. */
enum step {
	STEP_RETURN,
	STEP_EXIT,
	STEP_ENTRY,
	STEP_SESSION,
	STEPS
};

static const enum way way_of_step[STEPS] = {WAY_RETURN, WAY_SITE, WAY_SITE, WAY_SESSION};

/* The kernel's ENOTSUPP, which it tells user space without a name for it. */
#define KERNEL_ENOTSUPP 524

struct place {
	uint64_t offset, counter, cookie;
	uint32_t group;
	int link; /* with perf events; else -1 */
};

struct chunk {
	char *path;
	pid_t pid;
	enum way way;
	int link; /* -1: none */
	vec(struct place) places;
};

struct uprobes {
	struct uprobe_ways ways;
	int session, site; /* programs; session: -1: there are none */
	struct uprobe_perf perf;
	struct closing *closing;
	vec(struct chunk *) chunks;
	struct map refused; /* by group */
	vec(uint32_t) refused_list;
	size_t refused_places;
};

static void *ask_as_thread(void *result)
{
	uint64_t offset = UINT64_MAX >> 2;
	/* the order in which the kernel looks: program, path, process, places */
	struct uprobe_link link = {
		.program = (uint32_t) * (int *)result,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.pid = (uint32_t)gettid(),
	};

	*(int *)result = uprobe_link_create(&link);
	return NULL;
}

/*
 * Before 6.10 the filter compared threads instead of processes, and took the number of any thread.
 * One that wants a process says that there is none with the number of a second thread. (The place
 * is behind the end of the file: nothing is attached in either case.)
 */
static bool pid_filter_is_right(void)
{
	static const struct bpf_insn return_0[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "stackcam_try", "GPL", return_0,
				    sizeof(return_0) / sizeof(return_0[0]), &options);
	int result = program;
	pthread_t thread;

	if (program < 0)
		return false;
	if (pthread_create(&thread, NULL, ask_as_thread, &result))
		result = -EAGAIN;
	else
		pthread_join(thread, NULL);
	close(program);
	if (result >= 0)
		close(result);
	return result == -ESRCH;
}

static bool has_feature(enum feature_id id)
{
	struct feature feature;

	feature_probe(id, &feature);
	return feature.state == FEATURE_OK;
}

void uprobe_ways_probe(struct uprobe_ways *ways)
{
	ways->session = has_feature(FEATURE_UPROBE_SESSION);
	ways->multi = has_feature(FEATURE_UPROBE_MULTI);
	ways->pid_filter = ways->multi && pid_filter_is_right();
}

static bool has_sessions(const struct uprobe_programs *programs, const struct uprobe_ways *ways)
{
	return programs->session && ways->session && ways->multi;
}

static struct uprobe_ways ways_or_those_here(const struct uprobe_ways *ways)
{
	struct uprobe_ways here;

	if (ways)
		return *ways;
	uprobe_ways_probe(&here);
	return here;
}

void uprobes_prepare(const struct uprobe_programs *programs, const struct uprobe_ways *ways)
{
	const struct uprobe_ways used = ways_or_those_here(ways);
	bool session = has_sessions(programs, &used);

	if (programs->session)
		bpf_program__set_autoload(programs->session, session);
	if (session)
		bpf_program__set_expected_attach_type(programs->session,
						      (enum bpf_attach_type)ATTACH_UPROBE_SESSION);
	bpf_program__set_expected_attach_type(
		programs->site, used.multi ? (enum bpf_attach_type)ATTACH_UPROBE_MULTI : 0);
}

int uprobes_new(const struct uprobe_programs *programs, const struct uprobe_ways *ways,
		struct uprobes **result)
{
	struct uprobes *uprobes = calloc(1, sizeof(*uprobes));
	int err = 0;

	if (!uprobes)
		return -ENOMEM;
	uprobes->ways = ways_or_those_here(ways);
	uprobes->session =
		has_sessions(programs, &uprobes->ways) ? bpf_program__fd(programs->session) : -1;
	uprobes->site = bpf_program__fd(programs->site);
	if (!uprobes->ways.multi)
		err = uprobe_perf_find(&uprobes->perf);
	if (!err)
		err = closing_new(&uprobes->closing);
	if (err)
		free(uprobes);
	else
		*result = uprobes;
	return err;
}

static void close_link(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void free_chunk(struct uprobes *uprobes, struct chunk *chunk)
{
	if (!chunk)
		return;
	if (chunk->link >= 0)
		closing_add(uprobes->closing, chunk->link);
	vec_foreach (&chunk->places, place)
		if (place->link >= 0)
			closing_add(uprobes->closing, place->link);
	vec_free(&chunk->places);
	free(chunk->path);
	free(chunk);
}

/* Frees chunks from the number first on. */
static void drop_chunks(struct uprobes *uprobes, size_t first)
{
	while (uprobes->chunks.count > first)
		free_chunk(uprobes, uprobes->chunks.at[--uprobes->chunks.count]);
}

void uprobes_detach(struct uprobes *uprobes, const char *path, pid_t pid)
{
	size_t kept = 0;

	vec_foreach (&uprobes->chunks, chunk) {
		if ((*chunk)->pid == pid && !strcmp((*chunk)->path, path))
			free_chunk(uprobes, *chunk);
		else
			uprobes->chunks.at[kept++] = *chunk;
	}
	uprobes->chunks.count = kept;
}

void uprobes_wait_detached(struct uprobes *uprobes)
{
	closing_wait(uprobes->closing);
}

void uprobes_free(struct uprobes *uprobes)
{
	if (!uprobes)
		return;
	drop_chunks(uprobes, 0);
	closing_free(uprobes->closing);
	vec_free(&uprobes->chunks);
	vec_free(&uprobes->refused_list);
	map_free(&uprobes->refused);
	free(uprobes);
}

static int compare_groups(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int refuse_group(struct uprobes *uprobes, uint32_t group)
{
	uprobes->refused_places++;
	if (map_get(&uprobes->refused, group))
		return 0;
	if (!vec_reserve(&uprobes->refused_list, uprobes->refused_list.count + 1) ||
	    !map_put(&uprobes->refused, group, 1))
		return -ENOMEM;
	uprobes->refused_list.at[uprobes->refused_list.count++] = group;
	return 0;
}

/* An error that may be due to one of the places, and not to all of them. */
static bool is_of_a_place(int err)
{
	return err == -KERNEL_ENOTSUPP || err == -EOPNOTSUPP || err == -EINVAL || err == -ENOEXEC ||
	       err == -EIO;
}

/* Attaches count places from first on with one link. Returns its descriptor or a negative errno. */
static int link_multi(const struct uprobes *uprobes, const struct chunk *chunk, size_t first,
		      size_t count)
{
	uint64_t *numbers = malloc(count * 3 * sizeof(*numbers));
	struct uprobe_link link = {
		.program = (uint32_t)(chunk->way == WAY_SESSION ? uprobes->session : uprobes->site),
		.attach_type =
			chunk->way == WAY_SESSION ? ATTACH_UPROBE_SESSION : ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)chunk->path,
		.offsets = (uintptr_t)numbers,
		.cookies = (uintptr_t)(numbers + count),
		.count = (uint32_t)count,
		.uprobe_flags = chunk->way == WAY_RETURN ? UPROBE_LINK_RETURN : 0,
		.pid = uprobes->ways.pid_filter ? (uint32_t)chunk->pid : 0,
	};
	size_t i;
	int fd;

	if (!numbers)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		numbers[i] = chunk->places.at[first + i].offset;
		numbers[count + i] = chunk->places.at[first + i].cookie;
		numbers[2 * count + i] = chunk->places.at[first + i].counter;
		if (numbers[2 * count + i])
			link.reference_counters = (uintptr_t)(numbers + 2 * count);
	}
	fd = uprobe_link_create(&link);
	free(numbers);
	return fd;
}

/* Finds the places from first on that are refused, by halves. */
static int find_refused(struct uprobes *uprobes, struct chunk *chunk, size_t first, size_t count)
{
	int fd = link_multi(uprobes, chunk, first, count), err;

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (!is_of_a_place(fd))
		return fd;
	if (count == 1)
		return refuse_group(uprobes, chunk->places.at[first].group);
	err = find_refused(uprobes, chunk, first, count / 2);
	return err ? err : find_refused(uprobes, chunk, first + count / 2, count - count / 2);
}

/* Forgets places of groups that were refused. */
static void sweep(struct uprobes *uprobes, struct chunk *chunk)
{
	size_t kept = 0;

	vec_foreach (&chunk->places, place) {
		if (map_get(&uprobes->refused, place->group))
			close_link(&place->link);
		else
			chunk->places.at[kept++] = *place;
	}
	chunk->places.count = kept;
}

/* While it is being attached, a process can map the file: then more may be refused. */
#define TRIES 4

static int attach_multi(struct uprobes *uprobes, struct chunk *chunk)
{
	int err = 0, i;

	for (i = 0; i < TRIES && chunk->places.count; i++) {
		chunk->link = link_multi(uprobes, chunk, 0, chunk->places.count);
		if (chunk->link >= 0)
			return 0;
		if (!is_of_a_place(chunk->link))
			return chunk->link;
		err = find_refused(uprobes, chunk, 0, chunk->places.count);
		if (err)
			return err;
		sweep(uprobes, chunk);
	}
	return chunk->places.count ? chunk->link : 0;
}

static int attach_perf(struct uprobes *uprobes, struct chunk *chunk)
{
	bool any_refused = false;
	int err = 0;

	vec_foreach (&chunk->places, place) {
		place->link = uprobe_perf_attach(&uprobes->perf, uprobes->site, chunk->path,
						 chunk->pid, place->offset, place->counter,
						 place->cookie, chunk->way == WAY_RETURN);
		if (place->link >= 0)
			continue;
		if (!is_of_a_place(place->link))
			return place->link;
		err = refuse_group(uprobes, place->group);
		if (err)
			return err;
		any_refused = true;
	}
	if (any_refused)
		sweep(uprobes, chunk);
	return 0;
}

static int attach_chunk(struct uprobes *uprobes, struct chunk *chunk)
{
	return uprobes->ways.multi ? attach_multi(uprobes, chunk) : attach_perf(uprobes, chunk);
}

static struct chunk *add_chunk(struct uprobes *uprobes, const char *path, pid_t pid, enum way way)
{
	struct chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->link = -1;
	chunk->pid = pid;
	chunk->way = way;
	chunk->path = strdup(path);
	if (!chunk->path || !vec_push(&uprobes->chunks, chunk)) {
		free_chunk(uprobes, chunk);
		return NULL;
	}
	return chunk;
}

/* Has the place a probe of this step? *cookie: the one of that probe. */
static bool is_of_step(const struct uprobes *uprobes, const struct uprobe_place *place,
		       enum step step, uint64_t *cookie)
{
	bool session = uprobes->session >= 0;
	bool apart = place->kind == UPROBE_ENTRY_AND_RETURN && !session;

	*cookie = place->cookie;
	switch (step) {
	case STEP_EXIT:
		return place->kind == UPROBE_EXIT_SITE;
	case STEP_RETURN:
		if (place->kind == UPROBE_RETURN)
			return true;
		*cookie = place->return_cookie;
		return apart;
	case STEP_ENTRY:
		if (place->kind == UPROBE_ENTRY)
			return true;
		*cookie = place->entry_cookie;
		return apart;
	case STEP_SESSION:
		return place->kind == UPROBE_ENTRY_AND_RETURN && session;
	default:
		return false;
	}
}

/* Adds a place to a chunk, in which room is made by attaching it and beginning a new one. */
static int add_place(struct uprobes *uprobes, struct chunk **chunk, enum way way, const char *path,
		     pid_t pid, const struct place *place)
{
	int err;

	if (*chunk && ((*chunk)->way != way || (*chunk)->places.count == CHUNK_PLACES)) {
		err = attach_chunk(uprobes, *chunk);
		*chunk = NULL;
		if (err)
			return err;
		/* an entry whose exits cannot be seen is of no use */
		if (map_get(&uprobes->refused, place->group))
			return 0;
	}
	if (!*chunk)
		*chunk = add_chunk(uprobes, path, pid, way);
	return *chunk && vec_push(&(*chunk)->places, *place) ? 0 : -ENOMEM;
}

static int attach_places(struct uprobes *uprobes, const char *path, pid_t pid,
			 const struct uprobe_place *places, size_t count)
{
	struct chunk *chunk = NULL;
	uint64_t cookie;
	int err = 0;

	for (enum step step = 0; step < STEPS; step++)
		for (size_t i = 0; i < count && !err; i++)
			if (is_of_step(uprobes, &places[i], step, &cookie) &&
			    !map_get(&uprobes->refused, places[i].group))
				err = add_place(uprobes, &chunk, way_of_step[step], path, pid,
						&(struct place){places[i].offset, places[i].counter,
								cookie, places[i].group, -1});
	return !err && chunk ? attach_chunk(uprobes, chunk) : err;
}

/* Groups refused since there were before of them: what is attached of them goes. */
static int remove_refused(struct uprobes *uprobes, size_t before)
{
	size_t i;
	int err = 0;

	for (i = before; i < uprobes->refused_list.count && !err; i++)
		err = uprobes_remove_group(uprobes, uprobes->refused_list.at[i]);
	return err;
}

static int attach_failed(int err, const char *path, struct fail *why)
{
	if (err == -EMFILE || err == -ENFILE)
		return fail(why, err, "raise 'ulimit -n', or choose fewer functions",
			    "cannot put probes into %s: too many open files", path);
	if (err == -EPERM || err == -EACCES)
		return fail(why, err,
			    "run as root, or grant CAP_BPF and CAP_PERFMON ('stackcam doctor' "
			    "lists all)",
			    "cannot put probes into %s: not permitted", path);
	return fail_errno(why, err, NULL, "cannot put probes into %s", path);
}

int uprobes_attach(struct uprobes *uprobes, const char *path, pid_t pid,
		   const struct uprobe_place *places, size_t count, struct fail *why)
{
	size_t first = uprobes->chunks.count, refused = uprobes->refused_list.count;
	int err = attach_places(uprobes, path, pid, places, count);

	if (!err)
		err = remove_refused(uprobes, refused);
	if (err) {
		drop_chunks(uprobes, first);
		if (err == -ESRCH)
			return fail(why, err, NULL, "there is no process %d", (int)pid);
		return attach_failed(err, path, why);
	}
	if (uprobes->refused_list.count)
		qsort(uprobes->refused_list.at, uprobes->refused_list.count,
		      sizeof(*uprobes->refused_list.at), compare_groups);
	return 0;
}

/* Removes the places of a group from a chunk's list. Returns whether there were any. */
static bool forget_places(struct chunk *chunk, uint32_t group)
{
	size_t kept = 0, before = chunk->places.count;

	vec_foreach (&chunk->places, place) {
		if (place->group == group)
			close_link(&place->link);
		else
			chunk->places.at[kept++] = *place;
	}
	chunk->places.count = kept;
	return kept != before;
}

int uprobes_remove_group(struct uprobes *uprobes, uint32_t group)
{
	int err = 0, failed = 0;

	/* entries first: they were attached last */
	for (size_t i = uprobes->chunks.count; i-- > 0;) {
		struct chunk *chunk = uprobes->chunks.at[i];

		if (!forget_places(chunk, group) || !uprobes->ways.multi)
			continue;
		/* never both at a time: each call would be told twice */
		close_link(&chunk->link);
		err = chunk->places.count ? attach_multi(uprobes, chunk) : 0;
		/* a process that is gone needs none */
		if (err && err != -ESRCH)
			failed = err;
	}
	return failed;
}

struct uprobes_counts uprobes_counts(const struct uprobes *uprobes)
{
	struct uprobes_counts counts = {.refused = uprobes->refused_places};

	vec_foreach (&uprobes->chunks, chunk) {
		if ((*chunk)->link >= 0)
			counts.links++;
		if ((*chunk)->link >= 0 || !uprobes->ways.multi)
			counts.attached += (*chunk)->places.count;
		if (!uprobes->ways.multi)
			counts.links += (*chunk)->places.count;
	}
	return counts;
}
