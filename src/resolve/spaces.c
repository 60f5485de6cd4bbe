// SPDX-License-Identifier: Apache-2.0
#include "resolve/spaces.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/unwind/abi.h"
#include "resolve/chunk_maps.h"
#include "resolve/kept_tables.h"
#include "unwind/more.h"
#include "unwind/table.h"

#define WORDS(type) (sizeof(type) / 4)

/* The value of the map of spaces, as bpf/capture/maps.h has it. */
struct space_value {
	struct unwind_space space;
	uint32_t patience, outdated, doubted;
};

/* This part of all memory for tables may be of those that no process needs at the moment. */
#define KEPT_PART 4

struct spaces {
	struct spaces_maps maps;
	struct unwind_pool *pool;
	struct unwind_rules *rules;
	struct unwind_rule *rule_memory;
	struct chunk_maps chunks;
	vec(struct image_table) images; /* by their numbers */
	struct kept_tables kept;
	uint64_t kept_most; /* bytes */
	struct more more;   /* of the image of which a part was read last */
	vec(struct space *) published;
	uint32_t last_generation, patience;
	bool few_processes;
	struct allowance *allowance;
	bool some_put_off;
	struct spaces_statistics statistics;
};

int spaces_new(const struct spaces_maps *maps, uint64_t limit, uint32_t patience,
	       bool few_processes, struct allowance *allowance, struct spaces **result,
	       struct fail *why)
{
	struct spaces *spaces = calloc(1, sizeof(*spaces));
	struct unwind_pool_memory memory;
	int err = -ENOMEM;

	if (!spaces)
		goto failed;
	spaces->maps = *maps;
	memory = chunk_maps_begin(&spaces->chunks, maps->chunks);
	spaces->patience = patience;
	spaces->kept_most = limit / KEPT_PART;
	spaces->few_processes = few_processes;
	spaces->allowance = allowance;
	spaces->rule_memory = mmap(NULL, UNWIND_RULES_MAX * sizeof(struct unwind_rule),
				   PROT_READ | PROT_WRITE, MAP_SHARED, maps->rules, 0);
	if (spaces->rule_memory == MAP_FAILED) {
		spaces->rule_memory = NULL;
		err = -errno;
		goto failed;
	}
	err = unwind_pool_new(&memory, limit, &spaces->pool);
	if (!err)
		err = unwind_rules_new(spaces->rule_memory, &spaces->rules);
	if (err)
		goto failed;
	*result = spaces;
	return 0;
failed:
	spaces_free(spaces);
	return fail_errno(why, err, NULL, "cannot make the unwind tables' memory");
}

void spaces_free(struct spaces *spaces)
{
	if (!spaces)
		return;
	if (spaces->pool)
		kept_tables_drop(&spaces->kept, spaces->pool);
	if (spaces->rules)
		unwind_rules_free(spaces->rules);
	if (spaces->pool)
		unwind_pool_free(spaces->pool);
	if (spaces->rule_memory)
		munmap(spaces->rule_memory, UNWIND_RULES_MAX * sizeof(struct unwind_rule));
	more_free(&spaces->more);
	vec_free(&spaces->images);
	vec_free(&spaces->published);
	free(spaces);
}

/* Whether a table can be kept, by what the image's file is. */
static bool is_kept(const struct image *image)
{
	return image->kind == IMAGE_FILE && image->identity.inode;
}

static struct image_table *table_of(struct spaces *spaces, const struct image *image)
{
	struct image_table *table;

	while (spaces->images.count <= image->number)
		if (!vec_push(&spaces->images, (struct image_table){0}))
			return NULL;
	table = &spaces->images.at[image->number];
	if (!table->asked_for_kept && is_kept(image)) {
		(void)kept_tables_steal(&spaces->kept, &image->identity, table);
		table->asked_for_kept = true;
	}
	return table;
}

/* Fills in how code of an image is unwound. kind is set last: the kernel may be reading. */
static void show_table(struct unwind_mapping *to, const struct image_table *from)
{
	to->directory = from->table.directory;
	to->first_page = from->table.first_page;
	to->pages = from->table.pages;
	__atomic_store_n(&to->kind, (uint32_t)from->kind, __ATOMIC_RELEASE);
}

static void make_table(struct spaces *spaces, const struct image *image, struct image_table *to)
{
	struct fail why = {0};
	int err = 0;

	if (image->memory)
		err = unwind_table_of_memory(image->memory, image->memory_size, spaces->pool,
					     spaces->rules, &to->table, &why);
	else if (image->fd >= 0 && image->is_elf)
		err = unwind_table_for_leaf(image->fd, to->may_leave_out ? &to->leaf : NULL,
					    spaces->pool, spaces->rules, &to->table, &why);
	if (err == -ENOSPC)
		spaces->statistics.no_room++;
	else if (err == -E2BIG)
		spaces->statistics.over_budget++;
	else if (err)
		spaces->statistics.broken++;
	spaces->statistics.over_budget += !err && to->table.over_budget;
	spaces->statistics.unsupported += to->table.unsupported;
	to->kind = !err && to->table.pages ? UNWIND_MAPPING_TABLE : UNWIND_MAPPING_NO_TABLE;
}

/* The same, if there is time to read the image now; else it is done when there is. */
static bool build_table(struct spaces *spaces, const struct image *image, struct image_table *to)
{
	uint64_t begin;

	if (!allowance_start(spaces->allowance, image->is_of_root, &begin)) {
		spaces->statistics.put_off += !to->put_off;
		to->put_off = image;
		spaces->some_put_off = true;
		return false;
	}
	make_table(spaces, image, to);
	to->put_off = NULL;
	allowance_end(spaces->allowance, image->is_of_root, begin);
	return true;
}

/* All spaces that show this image show its table as it is now. */
static void show_everywhere(struct spaces *spaces, const struct image *image,
			    const struct image_table *table, uint32_t before)
{
	vec_foreach (&spaces->published, published) {
		struct unwind_mapping *shown = unwind_pool_at(spaces->pool, (*published)->mappings);
		const struct process *process = (*published)->process;
		size_t i = 0, j = 0;

		/* both are sorted by start; the process's may have changed since */
		while (i < (*published)->count && j < process->mapping_count) {
			const struct mapping *mapping = &process->mappings[j];

			if (shown[i].start < mapping->start) {
				i++;
			} else if (shown[i].start > mapping->start) {
				j++;
			} else {
				if (mapping->image == image && shown[i].directory == before)
					show_table(&shown[i], table);
				i++;
				j++;
			}
		}
	}
}

static void forget_published(struct spaces *spaces, const struct space *space)
{
	vec_foreach (&spaces->published, published) {
		if (*published != space)
			continue;
		*published = *vec_last(&spaces->published);
		spaces->published.count--;
		return;
	}
}

struct unwind_pool *spaces_pool(const struct spaces *spaces)
{
	return spaces->pool;
}

/*
 * A stack that is handed over comes without the frames of its language: where there are any, tables
 * are made before they are needed. Of the whole machine, the largest ones can wait until a stack
 * asks for them: libraries of that size are a program's own (browsers, libtorch), not a runtime
 * (libjvm, node: up to 28 MB, of which 76,000 functions take some 60 ms and half a megabyte). Of a
 * few processes that are watched, many stacks would ask at the same time.
 */
#define EARLY_CODE_MAX (64u << 20)

static uint64_t code_bytes(const struct image *image)
{
	uint64_t bytes = 0;
	uint32_t i;

	for (i = 0; i < image->segment_count; i++)
		bytes += image->segments[i].size;
	return bytes;
}

/* In the place of the table that there is. False: there is no time for it now. */
static bool build_anew(struct spaces *spaces, const struct image *image, struct image_table *table)
{
	struct unwind_table old = table->table;

	if (!build_table(spaces, image, table))
		return false;
	show_everywhere(spaces, image, table, old.directory);
	unwind_table_drop(&old, spaces->pool);
	return true;
}

void spaces_expect(struct spaces *spaces, const struct image *image)
{
	struct image_table *table = table_of(spaces, image);

	if (!table || (table->kind != UNWIND_MAPPING_LATER && !table->table.left_out) ||
	    (!spaces->few_processes && code_bytes(image) > EARLY_CODE_MAX))
		return;
	table->may_leave_out = false;
	build_anew(spaces, image, table);
}

void spaces_build(struct spaces *spaces, const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++)
		spaces_expect(spaces, process->mappings[i].image);
}

/* Where the image has the list of a compiler's code (unwind/jit_debug.h); 0: nowhere. */
static uint64_t jit_debug_of_image(struct spaces *spaces, struct image_table *table,
				   const struct image *image)
{
	struct runtime_symbol symbol = {.name = JIT_DEBUG_SYMBOL};
	struct budget budget;
	uint64_t begin;

	if (table->asked_for_jit || !image->is_elf || image->kind != IMAGE_FILE ||
	    !allowance_start(spaces->allowance, image->is_of_root, &begin))
		return table->jit_debug;
	table->asked_for_jit = true;
	runtime_budget(&budget);
	if (runtime_find_symbols(image, &budget, &symbol, 1))
		table->jit_debug = symbol.address;
	allowance_end(spaces->allowance, image->is_of_root, begin);
	return table->jit_debug;
}

static bool has_code_without_file(const struct process *process)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		if (process->mappings[i].image->kind == IMAGE_ANON)
			return true;
	}
	return false;
}

/* Where the process has such a list; 0: nowhere. */
static uint64_t find_jit_debug(struct spaces *spaces, const struct process *process)
{
	if (process->end || !has_code_without_file(process))
		return 0;
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct mapping *mapping = &process->mappings[i];
		struct image_table *table = table_of(spaces, mapping->image);
		uint64_t address = table ? jit_debug_of_image(spaces, table, mapping->image) : 0;

		if (address)
			return address + mapping->bias;
	}
	return 0;
}

/*
 * Reads what the process's compilers say of code that they have made. *old: tables to be dropped
 * when the new ones are shown.
 */
static void look_for_jit_debug(struct spaces *spaces, struct space *space,
			       const struct process *process, struct jit_debug *old)
{
	uint64_t descriptor = find_jit_debug(spaces, process), begin;

	/* what the process itself has made is as a file of its user's */
	if (!descriptor || !allowance_start(spaces->allowance, false, &begin))
		return;
	if (!space->jit_debug)
		space->jit_debug = calloc(1, sizeof(*space->jit_debug));
	if (space->jit_debug)
		jit_debug_read(space->jit_debug, old, process_read, (void *)process, descriptor,
			       spaces->pool, spaces->rules);
	allowance_end(spaces->allowance, false, begin);
}

/* Shows the table of code without a file, if it has one. */
static void show_jit_debug(struct unwind_mapping *to, const struct space *space,
			   const struct mapping *mapping)
{
	const struct unwind_table *table;
	struct image_table shown = {.kind = UNWIND_MAPPING_TABLE};

	if (!space->jit_debug || mapping->image->kind != IMAGE_ANON || to->runtime)
		return;
	table = jit_debug_table(space->jit_debug, mapping->start, mapping->end);
	if (!table)
		return;
	shown.table = *table;
	show_table(to, &shown);
}

/* What the kernel is shown of a space. */
static struct space_value value_of(const struct spaces *spaces, const struct space *space)
{
	return (struct space_value){
		.space = {space->mappings, space->count, space->generation, space->exec_id,
			  space->jit.runtime, space->jit.data, space->home.runtime,
			  space->home.data, space->context, 0},
		.patience = spaces->patience,
	};
}

static void drop_jit_debug(struct spaces *spaces, struct space *space)
{
	if (!space->jit_debug)
		return;
	jit_debug_drop(space->jit_debug, spaces->pool);
	free(space->jit_debug);
	space->jit_debug = NULL;
}

int spaces_publish(struct spaces *spaces, struct space *space, const struct process *process,
		   const struct process_runtimes *runtimes, uint32_t exec_id)
{
	uint32_t count = (uint32_t)process->mapping_count, pid = (uint32_t)process->pid, reference,
		 i;
	struct unwind_mapping *shown;
	struct space_value value;
	struct space fresh;
	struct jit_debug old = {0};

	if (runtimes_any(runtimes))
		spaces_build(spaces, process);
	reference = count ? unwind_pool_get(spaces->pool, count * WORDS(*shown)) : 0;
	if (!reference) {
		spaces->statistics.no_room += count != 0;
		return -ENOSPC;
	}
	look_for_jit_debug(spaces, space, process, &old);
	shown = unwind_pool_at(spaces->pool, reference);
	for (i = 0; i < count; i++) {
		const struct mapping *mapping = &process->mappings[i];
		const struct image_table *table = table_of(spaces, mapping->image);
		struct runtimes_mark mark = runtimes_mark(runtimes, mapping);

		shown[i] = (struct unwind_mapping){.start = mapping->start,
						   .end = mapping->end,
						   .bias = mapping->bias,
						   .runtime = mark.runtime,
						   .data = mark.data};
		if (table)
			show_table(&shown[i], table);
		show_jit_debug(&shown[i], space, mapping);
	}
	fresh = (struct space){
		.process = process,
		.mappings = reference,
		.count = count,
		.generation = ++spaces->last_generation,
		.process_generation = process->generation,
		.exec_id = exec_id,
		.jit = runtimes_jit(runtimes),
		.jit_debug = space->jit_debug,
		.home = runtimes_home(runtimes),
		.context = runtimes_context(runtimes),
		.published = clock_ns(),
		.shown = !process->end,
	};
	value = value_of(spaces, &fresh);
	if (!space->process && !vec_push(&spaces->published, space)) {
		unwind_pool_put(spaces->pool, reference, count * WORDS(*shown));
		drop_jit_debug(spaces, space);
		jit_debug_drop(&old, spaces->pool);
		return -ENOMEM;
	}
	/* a full map does no harm beyond the cost: these stacks go on being handed over */
	if (!process->end && bpf_map_update_elem(spaces->maps.spaces, &pid, &value, BPF_ANY))
		spaces->statistics.no_room++;
	if (space->process)
		unwind_pool_put(spaces->pool, space->mappings, space->count * WORDS(*shown));
	*space = fresh;
	jit_debug_drop(&old, spaces->pool);
	return 0;
}

bool spaces_is_waiting(const struct space *space)
{
	return space->jit_debug && !space->jit_debug->hash;
}

bool spaces_has_waited(const struct space *space)
{
	return space->jit_debug &&
	       jit_debug_has_begun(space->jit_debug, process_read, (void *)space->process);
}

void spaces_confirm(struct spaces *spaces, struct space *space, uint32_t exec_id)
{
	uint32_t pid = (uint32_t)space->process->pid;
	struct space_value value;

	space->exec_id = exec_id;
	value = value_of(spaces, space);
	if (space->shown)
		bpf_map_update_elem(spaces->maps.spaces, &pid, &value, BPF_EXIST);
}

uint32_t spaces_generation(const struct spaces *spaces)
{
	return spaces->last_generation;
}

void spaces_withdraw(struct spaces *spaces, struct space *space)
{
	uint32_t pid;

	if (!space->process)
		return;
	pid = (uint32_t)space->process->pid;
	if (space->shown)
		bpf_map_delete_elem(spaces->maps.spaces, &pid);
	unwind_pool_put(spaces->pool, space->mappings, space->count * WORDS(struct unwind_mapping));
	forget_published(spaces, space);
	drop_jit_debug(spaces, space);
	*space = (struct space){0};
}

/*
 * Code at address, which has no unwind information, was left out of the image's table, at first or
 * since there is much such code: that is read now. -EAGAIN: there is no time for it.
 */
static int read_more(struct spaces *spaces, const struct image *image, struct image_table *table,
		     uint64_t address)
{
	const uint32_t before = table->table.directory;
	uint64_t begin;
	int err;

	if (image->fd < 0)
		return -ENOENT;
	if (table->put_off)
		return -EAGAIN;
	if (table->table.left_out) {
		table->may_leave_out = false;
		return build_anew(spaces, image, table) ? 0 : -EAGAIN;
	}
	if (!allowance_start(spaces->allowance, image->is_of_root, &begin))
		return -EAGAIN;
	err = more_read(&spaces->more, image->number, image->fd, address, spaces->pool,
			spaces->rules, spaces->rule_memory, &table->table);
	allowance_end(spaces->allowance, image->is_of_root, begin);
	spaces->statistics.no_room += err == -ENOSPC;
	show_everywhere(spaces, image, table, before);
	return err;
}

/*
 * The walk stopped at pc: builds the table that it needs. -ENOENT: there is nothing to be built;
 * -EAGAIN: not now.
 */
static int build_for(struct spaces *spaces, const struct space *space, uint64_t pc)
{
	const struct mapping *mapping = process_mapping(space->process, pc);
	struct image_table *table;

	if (!mapping)
		return -ENOENT;
	table = table_of(spaces, mapping->image);
	if (!table)
		return -ENOENT;
	if (table->kind == UNWIND_MAPPING_TABLE)
		return read_more(spaces, mapping->image, table, pc - mapping->bias);
	if (table->kind != UNWIND_MAPPING_LATER)
		return -ENOENT;
	if (!table->put_off) {
		table->may_leave_out = true;
		table->leaf = pc - mapping->bias;
	}
	return build_anew(spaces, mapping->image, table) ? 0 : -EAGAIN;
}

void spaces_catch_up(struct spaces *spaces)
{
	if (!spaces->some_put_off)
		return;
	spaces->some_put_off = false;
	vec_foreach (&spaces->images, table)
		if (table->put_off)
			build_anew(spaces, table->put_off, table);
}

/* What the walk of a thread that waits needs to find the frames of languages. */
static void show_runtimes(const struct space *space, struct unwind_view *view)
{
	view->read_far = view->read_code;
	view->jit_runtime = space->jit.runtime;
	view->jit_data = space->jit.data;
	view->home_runtime = space->home.runtime;
	view->home_data = space->home.data;
}

int spaces_finish(struct spaces *spaces, struct space *space, const struct unwind_copy *stack,
		  struct unwind_registers *at, bool is_still, uint64_t *frames, uint32_t *count)
{
	struct unwind_view view = {
		.pool = spaces->pool,
		.rules = spaces->rule_memory,
		.mappings = space->mappings,
		.mapping_count = space->count,
		.read_code = space->process->end ? NULL : process_read,
		.context = (void *)space->process,
	};
	const struct unwind_registers leaf = *at;
	int end, err;

	if (is_still)
		show_runtimes(space, &view);
	for (;;) {
		end = unwind_walk_copy(&view, stack, at, frames, count);
		if (end != UNWIND_END_LATER)
			return end;
		err = build_for(spaces, space, at->pc_exact ? at->pc : at->pc - 1);
		if (err)
			return err == -EAGAIN ? UNWIND_END_PUT_OFF : UNWIND_END_UNMAPPED;
		/* what a runtime's step knew is not handed on */
		if (is_still) {
			*at = leaf;
			*count = 0;
		}
	}
}

void spaces_image_gone(struct spaces *spaces, const struct image *image)
{
	struct image_table *table = table_of(spaces, image);

	if (!table)
		return;
	table->put_off = NULL;
	more_forget(&spaces->more, image->number);
	if (is_kept(image) && table->kind != UNWIND_MAPPING_LATER)
		kept_tables_put(&spaces->kept, &image->identity, table, spaces->kept_most,
				spaces->pool);
	else
		unwind_table_drop(&table->table, spaces->pool);
	*table = (struct image_table){0};
}

void spaces_settle(struct spaces *spaces)
{
	if (!unwind_pool_unsettled(spaces->pool))
		return;
	/*
	 * The kernel carries this out as an RCU grace period: every BPF program that was running
	 * before has ended when it returns. Where it is refused (nohz_full), nothing is reused.
	 */
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		unwind_pool_settle(spaces->pool);
}

void spaces_statistics(const struct spaces *spaces, struct spaces_statistics *statistics)
{
	*statistics = spaces->statistics;
	vec_foreach (&spaces->images, table)
		statistics->tables += table->kind == UNWIND_MAPPING_TABLE;
	statistics->rules = unwind_rules_count(spaces->rules);
	unwind_pool_usage(spaces->pool, &statistics->bytes, &statistics->used);
}
