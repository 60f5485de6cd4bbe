// SPDX-License-Identifier: Apache-2.0
#include "resolve/runtimes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "attach/walkers.h"

#define TYPES_MAX UNWIND_RUNTIME_COUNT

/* What is known of an image, by its number. */
struct image_runtimes {
	bool looked, put_off;
	uint32_t suspects; /* bit n: runtime_types[n] has its facts */
	void *facts[TYPES_MAX];
};

/* A runtime of a process. */
struct attached {
	struct attached *next;
	const struct runtime_type *type;
	struct image *image;
	struct mapping mapping; /* the image's first one */
	const void *facts;
	void *state;
	uint32_t data; /* reference into the pool */
	bool ready;
	uint64_t met; /* when it was met; clock_ns() */
	struct frame_book frames;
};

/*
 * What is read of a runtime while the dynamic linker, or its own constructors, are still at work
 * cannot be told from damage: tables that are filled word by word. So what is not as it should be
 * is looked at again for so long before it is refused. A version that is not known is so at once.
 */
#define SETTLES_NS 1000000000ull

static bool may_settle(const struct attached *attached, int err)
{
	return (err == -EINVAL || err == -EFAULT) && clock_ns() - attached->met < SETTLES_NS;
}

/* Different reasons: an image's path may stand in one. */
#define REFUSALS_MAX 256

struct refusal {
	const struct runtime_type *type;
	char *words;
	uint64_t count;
};

struct runtimes {
	struct film_writer *film;
	struct unwind_pool *pool;
	struct runtime_frames *frames;
	struct walkers *walkers;
	struct allowance *allowance;
	uint64_t put_off; /* images that had to wait */
	vec(struct image_runtimes) images;
	vec(struct refusal) refusals;
};

int runtimes_new(struct film_writer *film, struct unwind_pool *pool, int kept_map,
		 struct walkers *walkers, struct allowance *allowance, struct runtimes **result)
{
	struct runtimes *runtimes = calloc(1, sizeof(*runtimes));

	if (!runtimes)
		return -ENOMEM;
	runtimes->film = film;
	runtimes->pool = pool;
	runtimes->walkers = walkers;
	runtimes->allowance = allowance;
	if (runtime_frames_new(film, kept_map, &runtimes->frames)) {
		free(runtimes);
		return -ENOMEM;
	}
	*result = runtimes;
	return 0;
}

static void close_image(struct image_runtimes *known)
{
	size_t i;

	for (i = 0; runtime_types[i]; i++)
		if (known->facts[i] && runtime_types[i]->close)
			runtime_types[i]->close(known->facts[i]);
	*known = (struct image_runtimes){0};
}

void runtimes_free(struct runtimes *runtimes)
{
	if (!runtimes)
		return;
	vec_foreach (&runtimes->images, known)
		close_image(known);
	vec_foreach (&runtimes->refusals, refusal)
		free(refusal->words);
	vec_free(&runtimes->images);
	vec_free(&runtimes->refusals);
	runtime_frames_free(runtimes->frames);
	free(runtimes);
}

/* A version that is not known, say: counted once for each image or process. */
static void refused(struct runtimes *runtimes, const struct runtime_type *type,
		    const struct fail *why)
{
	bool is_full = runtimes->refusals.count >= REFUSALS_MAX;
	struct refusal refusal = {type, NULL, 1};

	vec_foreach (&runtimes->refusals, known) {
		/* too many different reasons: the last one stands for more */
		bool is_last = is_full && known == vec_last(&runtimes->refusals);

		if (!is_last && (known->type != type || strcmp(known->words, why->what) != 0))
			continue;
		known->count++;
		return;
	}
	refusal.words =
		strdup(runtimes->refusals.count == REFUSALS_MAX - 1 ? "other reasons" : why->what);
	if (!refusal.words || !vec_push(&runtimes->refusals, refusal))
		free(refusal.words);
}

static void need_steps(struct runtimes *runtimes, const struct runtime_type *type)
{
	struct fail why = {0};

	if (walkers_need(runtimes->walkers, 1u << type->id, &why))
		refused(runtimes, type, &why);
}

/* Looks into an image: which runtimes it has. */
static void read_image(struct runtimes *runtimes, struct image_runtimes *known,
		       const struct image *image)
{
	struct budget budget;
	size_t i;

	known->looked = true;
	runtime_budget(&budget);
	known->suspects = runtime_suspects(image, &budget);
	for (i = 0; runtime_types[i]; i++) {
		struct fail why = {0};

		if (!(known->suspects >> i & 1) || !runtime_types[i]->open)
			continue;
		known->facts[i] = runtime_types[i]->open(image, &budget, &why);
		if (!known->facts[i] && why.err)
			refused(runtimes, runtime_types[i], &why);
		if (!known->facts[i])
			known->suspects &= ~(1u << i);
	}
	/* the earliest moment: the kernel side is shown nothing that needs them before */
	for (i = 0; runtime_types[i]; i++)
		if (known->suspects >> i & 1 && !runtime_types[i]->labels_threads)
			need_steps(runtimes, runtime_types[i]);
}

/* Null: it has to wait, or there is no memory. */
static struct image_runtimes *image_of(struct runtimes *runtimes, struct process_runtimes *of,
				       const struct image *image)
{
	struct image_runtimes *known;
	uint64_t begin;

	while (runtimes->images.count <= image->number)
		if (!vec_push(&runtimes->images, (struct image_runtimes){0}))
			return NULL;
	known = &runtimes->images.at[image->number];
	if (known->looked)
		return known;
	if (image->kind != IMAGE_FILE)
		return known;
	if (!allowance_start(runtimes->allowance, image->is_of_root, &begin)) {
		runtimes->put_off += !known->put_off;
		known->put_off = of->put_off = true;
		return NULL;
	}
	read_image(runtimes, known, image);
	allowance_end(runtimes->allowance, image->is_of_root, begin);
	return known;
}

void runtimes_image_gone(struct runtimes *runtimes, const struct image *image)
{
	if (image->number < runtimes->images.count)
		close_image(&runtimes->images.at[image->number]);
}

static struct runtime_at place_of(const struct attached *attached, const struct process *process)
{
	return (struct runtime_at){
		.process = process,
		.mapping = &attached->mapping,
		.facts = attached->facts,
		.memory = {process_read, (void *)process},
	};
}

static void detach(struct runtimes *runtimes, struct attached *attached)
{
	if (attached->state && attached->type->detach)
		attached->type->detach(attached->state);
	if (attached->data)
		unwind_pool_put(runtimes->pool, attached->data, UNWIND_DATA_WORDS);
	frame_book_free(&attached->frames);
	free(attached);
}

/* Asks the runtime for what the kernel side must know. False: it is none, or refused. */
static bool attach(struct runtimes *runtimes, struct attached *attached,
		   const struct process *process)
{
	struct runtime_at at = place_of(attached, process);
	uint64_t data[UNWIND_DATA_BYTES / 8] = {0};
	struct fail why = {0};
	int err;

	err = attached->type->attach ? attached->type->attach(&at, data, &attached->state, &why)
				     : 0;
	if (err == -EAGAIN || may_settle(attached, err))
		return true;
	if (!err) {
		attached->data = unwind_pool_get(runtimes->pool, UNWIND_DATA_WORDS);
		err = attached->data ? 0 : -ENOSPC;
	}
	if (err) {
		if (!why.err)
			fail_errno(&why, err, NULL, "its facts could not be kept");
		refused(runtimes, attached->type, &why);
		return false;
	}
	memcpy(unwind_pool_at(runtimes->pool, attached->data), data, sizeof(data));
	attached->ready = true;
	return true;
}

static struct attached *find(const struct process_runtimes *of, const struct runtime_type *type,
			     const struct image *image)
{
	struct attached *attached;

	for (attached = of->first; attached; attached = attached->next)
		if (attached->type == type && (!image || attached->image == image))
			break;
	return attached;
}

static bool look_at(struct runtimes *runtimes, struct process_runtimes *of,
		    const struct process *process, const struct mapping *mapping,
		    const struct runtime_type *type, const void *facts)
{
	struct attached *attached;
	struct fail why = {0};

	/*
	 * a frame does not say which of two it is of, and one is not named with the facts of
	 * another
	 */
	if (find(of, type, NULL)) {
		fail(&why, -ENOTSUP, NULL, "a second one in the same process");
		refused(runtimes, type, &why);
		return false;
	}
	attached = calloc(1, sizeof(*attached));
	if (!attached)
		return false;
	attached->type = type;
	attached->image = mapping->image;
	attached->mapping = *mapping;
	attached->facts = facts;
	attached->met = clock_ns();
	if (!attach(runtimes, attached, process)) {
		detach(runtimes, attached);
		return false;
	}
	attached->next = of->first;
	of->first = attached;
	return attached->ready;
}

/* Those that were not ready are asked again. */
static bool retry(struct runtimes *runtimes, struct process_runtimes *of,
		  const struct process *process)
{
	struct attached **link = &of->first, *attached;
	bool changed = false;

	of->waiting = of->put_off;
	while ((attached = *link)) {
		if (!attached->ready && !attach(runtimes, attached, process)) {
			*link = attached->next;
			detach(runtimes, attached);
			continue;
		}
		changed |= attached->ready;
		of->waiting |= !attached->ready;
		link = &attached->next;
	}
	return changed;
}

bool runtimes_look(struct runtimes *runtimes, struct process_runtimes *of,
		   const struct process *process)
{
	bool changed = false;
	size_t i, n;

	if (of->looked && of->execs != process->execs)
		runtimes_leave(runtimes, of);
	if (of->waiting)
		changed = retry(runtimes, of, process);
	if (of->looked && of->generation == process->generation &&
	    !(of->put_off && allowance_ask(runtimes->allowance, true, clock_ns())))
		return changed;
	of->put_off = false;
	of->looked = true;
	of->generation = process->generation;
	of->execs = process->execs;
	for (i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct image_runtimes *known = image_of(runtimes, of, mapping->image);

		for (n = 0; known && known->suspects >> n; n++)
			if (known->suspects >> n & 1 && !find(of, runtime_types[n], mapping->image))
				changed |= look_at(runtimes, of, process, mapping, runtime_types[n],
						   known->facts[n]);
	}
	for (struct attached *a = of->first; a; a = a->next)
		of->waiting |= !a->ready;
	of->waiting |= of->put_off;
	return changed;
}

bool runtimes_expect(struct runtimes *runtimes, const struct image *image)
{
	struct process_runtimes none = {0};
	const struct image_runtimes *known = image_of(runtimes, &none, image);

	return known && known->suspects;
}

void runtimes_leave(struct runtimes *runtimes, struct process_runtimes *of)
{
	struct attached *attached, *next;

	for (attached = of->first; attached; attached = next) {
		next = attached->next;
		detach(runtimes, attached);
	}
	*of = (struct process_runtimes){0};
}

bool runtimes_any(const struct process_runtimes *of)
{
	const struct attached *attached;

	for (attached = of->first; attached; attached = attached->next)
		if (attached->ready)
			return true;
	return false;
}

struct runtimes_mark runtimes_mark(const struct process_runtimes *of, const struct mapping *mapping)
{
	const struct attached *attached;

	for (attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = {.mapping = &attached->mapping, .facts = attached->facts};
		bool its;

		if (!attached->ready)
			continue;
		if (attached->image == mapping->image)
			its = attached->type->steps_in_image;
		else
			its = attached->type->owns &&
			      attached->type->owns(&at, attached->state, mapping);
		if (its)
			return (struct runtimes_mark){attached->type->id, attached->data};
	}
	return (struct runtimes_mark){0};
}

struct runtimes_mark runtimes_jit(const struct process_runtimes *of)
{
	const struct attached *attached;

	for (attached = of->first; attached; attached = attached->next)
		if (attached->ready && attached->type->owns)
			return (struct runtimes_mark){attached->type->id, attached->data};
	return (struct runtimes_mark){0};
}

struct runtimes_mark runtimes_home(const struct process_runtimes *of)
{
	const struct attached *attached;

	for (attached = of->first; attached; attached = attached->next)
		if (attached->ready && attached->type->restarts)
			return (struct runtimes_mark){attached->type->id, attached->data};
	return (struct runtimes_mark){0};
}

uint32_t runtimes_context(const struct process_runtimes *of)
{
	const struct attached *attached;

	for (attached = of->first; attached; attached = attached->next)
		if (attached->ready && attached->type->labels_threads)
			return attached->data;
	return 0;
}

static const struct runtime_type *type_of(uint32_t runtime)
{
	size_t i;

	for (i = 0; runtime_types[i]; i++)
		if (runtime_types[i]->id == runtime)
			return runtime_types[i];
	return NULL;
}

bool runtimes_is_part(const struct runtimes *runtimes, const struct mapping *mapping,
		      uint64_t address, uint32_t runtime, bool nearer_to_leaf)
{
	const struct runtime_type *type = type_of(runtime);
	uint32_t number = mapping->image->number;
	const struct image_runtimes *known;
	size_t i;

	if (!type || number >= runtimes->images.count || (nearer_to_leaf && !type->folds_leaf))
		return false;
	known = &runtimes->images.at[number];
	for (i = 0; runtime_types[i]; i++)
		if (runtime_types[i] == type)
			return known->suspects >> i & 1 &&
			       (!type->is_part ||
				type->is_part(known->facts[i], address - mapping->bias));
	return false;
}

uint32_t runtimes_frame(struct runtimes *runtimes, struct process_runtimes *of,
			const struct process *process, const struct runtime_place *place,
			bool *is_part)
{
	const struct runtime_type *type = type_of(UNWIND_WORD_RUNTIME(*place->words));
	struct attached *attached;
	struct runtime_at at;

	if (!type)
		return 0;
	/*
	 * a process that was just forked is walked with its parent's tables before it is looked at
	 */
	if (!find(of, type, NULL))
		runtimes_look(runtimes, of, process);
	attached = find(of, type, NULL);
	if (!attached || !attached->ready || !type->name_of)
		return runtime_frames_unknown(runtimes->frames, type,
					      process->end ? -ESRCH : -EFAULT);
	at = place_of(attached, process);
	return runtime_frames_get(runtimes->frames, type, &at, attached->state, &attached->frames,
				  place, is_part);
}

void runtimes_keep_codes(struct runtimes *runtimes)
{
	runtime_frames_keep_codes(runtimes->frames);
}

enum lock_code runtimes_code(const struct runtimes *runtimes, uint32_t frame)
{
	return runtime_frames_code(runtimes->frames, frame);
}

bool runtimes_locks(const struct process_runtimes *of, const struct process *process,
		    struct runtimes_lock *locks)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		locks->type = attached->type;
		if (attached->ready && attached->type->locks &&
		    attached->type->locks(&at, attached->state, &locks->where))
			return true;
	}
	return false;
}

int runtimes_vthreads(const struct process_runtimes *of, const struct process *process,
		      uint32_t object, struct vthreads_process *to, struct fail *why)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		if (attached->ready && attached->type->vthreads)
			return attached->type->vthreads(&at, attached->state, object, to, why);
	}
	return -EAGAIN;
}

bool runtimes_lock_thread(const struct process_runtimes *of, const struct process *process,
			  uint64_t thread)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		if (attached->ready && attached->type->locks)
			return !attached->type->lock_thread ||
			       attached->type->lock_thread(&at, attached->state, thread);
	}
	return false;
}

uint32_t runtimes_lock_owner(const struct process_runtimes *of, const struct process *process,
			     uint64_t owner)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		if (!attached->ready || !attached->type->locks)
			continue;
		if (attached->type->lock_owner)
			return attached->type->lock_owner(&at, attached->state, owner);
		return owner <= UINT32_MAX ? (uint32_t)owner : 0;
	}
	return 0;
}

bool runtimes_park_class(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		if (attached->ready && attached->type->lock_park_class)
			return attached->type->lock_park_class(&at, attached->state, klass);
	}
	return false;
}

bool runtimes_class_name(const struct process_runtimes *of, const struct process *process,
			 uint64_t klass, char *to, size_t size)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		if (attached->ready && attached->type->class_name)
			return !attached->type->class_name(&at, attached->state, klass, to, size);
	}
	return false;
}

static bool is_file_of_spans(const struct image *image)
{
	const char *name = image && image->path ? strrchr(image->path, '/') : NULL;

	for (size_t i = 0; name && runtime_types[i]; i++)
		if (runtime_types[i]->spans_file && !strcmp(name + 1, runtime_types[i]->spans_file))
			return true;
	return false;
}

bool runtimes_may_have_spans(const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++)
		if (is_file_of_spans(process->mappings[i].image))
			return true;
	return false;
}

void runtimes_spans(const struct process_runtimes *of, const struct process *process,
		    const struct runtime_memory *memory, struct runtime_spans *spans)
{
	for (const struct attached *attached = of->first; attached; attached = attached->next) {
		struct runtime_at at = place_of(attached, process);

		at.memory = *memory;
		if (attached->ready && attached->type->spans)
			attached->type->spans(&at, attached->state, spans);
	}
}

void runtimes_turn(struct runtimes *runtimes, struct film_writer *film)
{
	runtimes->film = film;
	runtime_frames_turn(runtimes->frames, film);
}

static void say_refusal(const struct refusal *refusal, char *to, size_t size)
{
	snprintf(to, size, "%s %s not looked for: %s", refusal->type->name,
		 refusal->type->labels_threads ? "labels" : "frames", refusal->words);
}

void runtimes_refusal(const struct runtimes *runtimes, char *to, size_t size)
{
	const struct refusal *most = NULL;

	vec_foreach (&runtimes->refusals, refusal)
		if (!most || refusal->count > most->count)
			most = refusal;
	*to = 0;
	if (most)
		say_refusal(most, to, size);
}

void runtimes_report_losses(const struct runtimes *runtimes)
{
	char words[sizeof(((struct fail *)0)->what) + 64];

	runtime_frames_report_losses(runtimes->frames);
	vec_foreach (&runtimes->refusals, refusal) {
		say_refusal(refusal, words, sizeof(words));
		film_loss(runtimes->film, 0, words, refusal->count);
	}
	if (runtimes->put_off)
		film_loss(runtimes->film, 0,
			  "file put off: languages in it are known later, as files are read for a "
			  "part of the time only",
			  runtimes->put_off);
}
