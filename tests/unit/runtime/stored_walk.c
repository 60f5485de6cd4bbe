// SPDX-License-Identifier: Apache-2.0
#include "stored_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../unwind/plain_memory.h"
#include "../unwind/table_lookup.h"
#include "base/vec.h"
#include "one_memory.h"

#define STEPS_MAX  (2 * UNWIND_FRAMES_MAX) /* as in the kernel */
#define TABLES_MAX 256

/* What the shared source asks for, hung around its state. */
struct walk_here {
	struct unwind_walk walk;
	const struct runtime_memory *memory;
	const struct plain_memory *tables;
	uint64_t *frames;
};

static inline const struct walk_here *here_of(const struct unwind_walk *w)
{
	return (const struct walk_here *)w;
}

static inline const __u32 *unwind_chunk(const struct unwind_walk *w, __u32 n)
{
	const __u32 *second = unwind_pool_at(here_of(w)->tables->pool, n << UNWIND_CHUNK_SHIFT | 1);

	return second ? second - 1 : NULL;
}

static inline const struct unwind_rule *unwind_rules(const struct unwind_walk *w)
{
	return here_of(w)->tables->rules_memory;
}

static inline __u64 *unwind_frames(struct unwind_walk *w)
{
	return (__u64 *)here_of(w)->frames;
}

static inline long unwind_read(const struct unwind_walk *w, void *to, __u32 size, __u64 address)
{
	const struct runtime_memory *memory = here_of(w)->memory;

	if (!memory->read(memory->context, to, size, address))
		return 0;
	/* as the kernel leaves it */
	memset(to, 0, size);
	return -EFAULT;
}

static inline int unwind_is_live(const struct unwind_walk *w)
{
	(void)w;
	return 1;
}

/* A runtime of the process. */
struct attached {
	const struct runtime_type *type;
	const struct mapping *mapping;
	void *facts, *state;
	uint32_t data;
	bool ready;
};

struct table_of {
	const struct image *image;
	struct unwind_table table;
};

struct stored_walk {
	const struct stored_source *source;
	struct stored_stack *stack;
	struct plain_memory tables;
	vec(struct attached) attached;
	vec(struct table_of) built;
	uint32_t mappings; /* reference */
};

static struct runtime_at place_of(const struct stored_walk *walk, const struct attached *attached)
{
	return (struct runtime_at){
		.process = walk->source->process,
		.mapping = attached->mapping,
		.facts = attached->facts,
		.memory = walk->source->memory,
	};
}

static void attach(struct stored_walk *walk, struct attached *attached)
{
	uint64_t data[UNWIND_DATA_BYTES / 8] = {0};
	struct runtime_at at = place_of(walk, attached);
	struct fail why = {0};
	int err = 0;

	if (attached->type->attach)
		err = attached->type->attach(&at, data, &attached->state, &why);
	if (why.err)
		buf_printf(&walk->stack->text, "%s refused: %s\n", attached->type->name, why.what);
	if (err)
		return;
	attached->data = unwind_pool_get(walk->tables.pool, UNWIND_DATA_WORDS);
	if (!attached->data)
		return;
	memcpy(unwind_pool_at(walk->tables.pool, attached->data), data, sizeof(data));
	attached->ready = true;
	walk->stack->attached |= 1u << attached->type->id;
}

static bool is_attached(const struct stored_walk *walk, const struct runtime_type *type,
			const struct image *image)
{
	vec_foreach (&walk->attached, attached)
		if (attached->type == type && attached->mapping->image == image)
			return true;
	return false;
}

static void look_at(struct stored_walk *walk, const struct mapping *mapping)
{
	uint32_t suspects = walk->source->suspects(walk->source->context, mapping->image);
	size_t i;

	for (i = 0; runtime_types[i]; i++) {
		struct attached attached = {.type = runtime_types[i], .mapping = mapping};
		struct budget budget;
		struct fail why = {0};

		if (!(suspects >> runtime_types[i]->id & 1) || !runtime_types[i]->open ||
		    is_attached(walk, runtime_types[i], mapping->image))
			continue;
		runtime_budget(&budget);
		attached.facts = runtime_types[i]->open(mapping->image, &budget, &why);
		if (why.err)
			buf_printf(&walk->stack->text, "%s refused: %s\n", runtime_types[i]->name,
				   why.what);
		if (!attached.facts)
			continue;
		attach(walk, &attached);
		if (vec_push(&walk->attached, attached))
			continue;
		if (attached.type->close)
			attached.type->close(attached.facts);
	}
}

static const struct attached *owner_of(const struct stored_walk *walk,
				       const struct mapping *mapping)
{
	vec_foreach (&walk->attached, attached) {
		struct runtime_at at = place_of(walk, attached);

		if (!attached->ready)
			continue;
		if (attached->mapping->image == mapping->image
			    ? attached->type->steps_in_image
			    : attached->type->owns &&
				      attached->type->owns(&at, attached->state, mapping))
			return attached;
	}
	return NULL;
}

/* What the kernel side is shown of the process. */
static int show_mappings(struct stored_walk *walk)
{
	const struct process *process = walk->source->process;
	struct unwind_mapping *shown;
	size_t i;

	if (!process->mapping_count)
		return 0;
	walk->mappings = unwind_pool_get(walk->tables.pool,
					 (uint32_t)(process->mapping_count * sizeof(*shown) / 4));
	if (!walk->mappings)
		return -ENOMEM;
	shown = unwind_pool_at(walk->tables.pool, walk->mappings);
	for (i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct attached *owner = owner_of(walk, mapping);

		shown[i] = (struct unwind_mapping){
			.start = mapping->start, .end = mapping->end, .bias = mapping->bias};
		if (owner) {
			shown[i].runtime = owner->type->id;
			shown[i].data = owner->data;
		}
	}
	return 0;
}

/* Builds the table of the image that address is in. False: there is nothing to be built. */
static bool build_for(struct stored_walk *walk, uint64_t address)
{
	const struct process *process = walk->source->process;
	const struct mapping *mapping = process_mapping(process, address);
	struct unwind_mapping *shown = unwind_pool_at(walk->tables.pool, walk->mappings);
	struct table_of built = {0};
	size_t i;

	if (!mapping || walk->built.count >= TABLES_MAX)
		return false;
	vec_foreach (&walk->built, before)
		if (before->image == mapping->image)
			return false;
	built.image = mapping->image;
	walk->source->table(walk->source->context, mapping->image, walk->tables.pool,
			    walk->tables.rules, &built.table);
	if (!vec_push(&walk->built, built))
		return false;
	for (i = 0; i < process->mapping_count; i++) {
		if (process->mappings[i].image != built.image)
			continue;
		shown[i].directory = built.table.directory;
		shown[i].first_page = built.table.first_page;
		shown[i].pages = built.table.pages;
		shown[i].kind = built.table.pages ? UNWIND_MAPPING_TABLE : UNWIND_MAPPING_NO_TABLE;
	}
	return true;
}

/* From the registers to the end, with the tables that there are. Returns where it stopped. */
static uint64_t walk_once(struct stored_walk *walk)
{
	const struct stored_thread *thread = walk->source->thread;
	struct walk_here here = {
		.memory = &walk->source->memory,
		.tables = &walk->tables,
		.frames = walk->stack->frames,
	};
	struct unwind_walk *w = &here.walk;
	uint32_t steps;

	w->pc = thread->pc;
	w->sp = thread->registers[ARCH_REG_SP];
	w->fp = thread->registers[ARCH_REG_FP];
	memcpy(w->registers, thread->registers, sizeof(w->registers));
	w->saved_at = UNWIND_SAVED_IN_REGISTER;
	w->known = 0xffff;
	w->fp_known = w->pc_exact = 1;
	w->tls = thread->tls;
	w->mappings = walk->mappings;
	w->mapping_count = (uint32_t)walk->source->process->mapping_count;
	w->end = UNWIND_END_LATER;
	for (steps = 0; steps < STEPS_MAX; steps++)
		if (unwind_step(w))
			break;
	walk->stack->endless = steps == STEPS_MAX;
	walk->stack->count = w->count;
	walk->stack->end = (enum unwind_end)w->end;
	walk->stack->missed = w->missed;
	return unwind_at(w);
}

static const char *const end_words[UNWIND_ENDS] = {
	[UNWIND_END_ROOT] = "root",
	[UNWIND_END_LATER] = "later",
	[UNWIND_END_MEMORY] = "memory",
	[UNWIND_END_UNSUPPORTED] = "unsupported",
	[UNWIND_END_NO_RULE] = "no rule",
	[UNWIND_END_UNMAPPED] = "unmapped",
	[UNWIND_END_STUCK] = "stuck",
	[UNWIND_END_FRAMES] = "frames",
	[UNWIND_END_COPY] = "copy",
	[UNWIND_END_STALE] = "stale",
	[UNWIND_END_32_BIT] = "32 bit",
	[UNWIND_END_RUNTIME_STATE] = "runtime's state",
	[UNWIND_END_RUNTIME_MEMORY] = "runtime's memory",
	[UNWIND_END_RUNTIME_CODE] = "runtime's code",
	[UNWIND_END_RUNTIME_LATER] = "runtime's frames missing",
};

static const struct attached *runtime_of(const struct stored_walk *walk, uint32_t runtime)
{
	/* the first that was found is the one asked, as in the recorder */
	vec_foreach (&walk->attached, attached)
		if (attached->type->id == runtime && attached->ready)
			return attached;
	return NULL;
}

/* The next outer frame of the same runtime, if that says what the frame is called. */
static const uint64_t *caller_of(const struct runtime_type *type, const uint64_t *words,
				 const uint64_t *end)
{
	const uint64_t *at = words + 2;

	if (!(type->named_by_caller >> UNWIND_WORD_VARIANT(*words) & 1))
		return NULL;
	for (; end - at >= 2; at += *at & UNWIND_IS_RUNTIME ? 2 : 1)
		if (*at & UNWIND_IS_RUNTIME && UNWIND_WORD_RUNTIME(*at) == type->id)
			return at;
	return NULL;
}

/* words: of one frame, and behind it up to end those of its callers. */
static void tell_runtime(struct stored_walk *walk, const uint64_t *words, const uint64_t *end)
{
	const struct attached *attached = runtime_of(walk, UNWIND_WORD_RUNTIME(words[0]));
	const char *guess = words[0] & UNWIND_GUESS ? " guess" : "";
	struct buf *text = &walk->stack->text;
	struct runtime_names *names;
	struct runtime_at at;
	int err = -ENOENT;
	size_t i;

	names = calloc(1, sizeof(*names));
	if (attached && attached->type->name_of && names) {
		at = place_of(walk, attached);
		at.caller = caller_of(attached->type, words, end);
		names->kind = attached->type->frame_kind;
		err = attached->type->name_of(&at, attached->state, words, names);
	}
	if (err || !names->count) {
		walk->stack->unnamed++;
		buf_printf(text, "%s ?%s %s\n", attached ? attached->type->name : "runtime", guess,
			   err == -ESTALE   ? "stale"
			   : err == -EFAULT ? "memory"
			   : err == -ESRCH  ? "gone"
					    : "unknown");
		free(names);
		return;
	}
	walk->stack->named++;
	for (i = 0; i < names->count; i++)
		buf_printf(text, "%s %s%s (%s:%u) in %s%s\n", attached->type->name,
			   names->at[i].function, guess,
			   names->at[i].file ? names->at[i].file : "-", names->at[i].line,
			   names->image ? names->image : "-",
			   i + 1 < names->count ? ", inlined into"
			   : names->is_part	? ", a part of the runtime"
						: "");
	free(names);
}

static void tell_native(struct stored_walk *walk, uint64_t word)
{
	const struct mapping *mapping =
		process_mapping(walk->source->process, word & UNWIND_VALUE_MASK);
	struct buf *text = &walk->stack->text;
	uint64_t at = word & UNWIND_VALUE_MASK;
	const char *slash;

	if (!mapping) {
		buf_printf(text, "native 0x%" PRIx64 "\n", at);
		return;
	}
	slash = strrchr(mapping->image->path, '/');
	buf_printf(text, "native %s+0x%" PRIx64 "%s\n", slash ? slash + 1 : mapping->image->path,
		   at - (mapping->bias ? mapping->bias : mapping->start),
		   word & UNWIND_GUESS ? " guess" : "");
	vec_foreach (&walk->built, built) {
		struct unwind_rule rule;

		if (built->image != mapping->image || !walk->source->passed)
			continue;
		rule = table_lookup(walk->tables.pool, walk->tables.rules_memory, &built->table,
				    at - mapping->bias);
		walk->source->passed(walk->source->context, mapping->image, at - mapping->bias,
				     &rule);
	}
}

static void tell(struct stored_walk *walk)
{
	struct stored_stack *stack = walk->stack;
	uint32_t i;

	for (i = 0; i < stack->count; i++) {
		if (!(stack->frames[i] & UNWIND_IS_RUNTIME))
			tell_native(walk, stack->frames[i]);
		else if (i + 1 < stack->count)
			tell_runtime(walk, &stack->frames[i++], stack->frames + stack->count);
	}
	for (i = 0; i < walk->source->more_count; i++)
		tell_runtime(walk, walk->source->more[i], walk->source->more[i] + 2);
	buf_printf(&stack->text, "end %s%s\n", end_words[stack->end],
		   stack->missed ? ", frames of a runtime missing" : "");
	buf_put_u8(&stack->text, 0);
}

static void close_all(struct stored_walk *walk)
{
	vec_foreach (&walk->attached, attached) {
		if (attached->state && attached->type->detach)
			attached->type->detach(attached->state);
		if (attached->type->close)
			attached->type->close(attached->facts);
	}
	vec_free(&walk->attached);
	vec_free(&walk->built);
	if (walk->tables.pool)
		plain_memory_free(&walk->tables);
}

int stored_open(const struct stored_source *source, struct stored_stack *stack,
		struct stored_walk **opened)
{
	struct stored_walk *walk = calloc(1, sizeof(*walk));
	const struct process *process = source->process;
	size_t i;
	int err;

	memset(stack, 0, sizeof(*stack));
	*opened = walk;
	if (!walk)
		return -ENOMEM;
	walk->source = source;
	walk->stack = stack;
	err = plain_memory_new(&walk->tables, 256 << 20) ? -ENOMEM : 0;
	for (i = 0; !err && i < process->mapping_count; i++)
		look_at(walk, &process->mappings[i]);
	return err ? err : show_mappings(walk);
}

void stored_take(struct stored_walk *walk)
{
	uint64_t at;

	do {
		at = walk_once(walk);
	} while (walk->stack->end == UNWIND_END_LATER && build_for(walk, at));
	if (walk->stack->end == UNWIND_END_LATER)
		walk->stack->end = UNWIND_END_UNMAPPED;
	walk->stack->named = walk->stack->unnamed = 0;
	tell(walk);
}

void stored_close(struct stored_walk *walk)
{
	if (!walk)
		return;
	close_all(walk);
	free(walk);
}

int stored_walk(const struct stored_source *source, struct stored_stack *stack)
{
	struct stored_walk *walk;
	int err = stored_open(source, stack, &walk);

	if (!err)
		stored_take(walk);
	stored_close(walk);
	return err;
}
