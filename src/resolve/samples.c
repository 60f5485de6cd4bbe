// SPDX-License-Identifier: Apache-2.0
#include "resolve/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "resolve/samples_state.h"
#include "bpf/probes.skel.h"
#include "process/far_files.h"

/*
 * Time for reading files: saved up at most, and the part of a CPU that comes in. The whole machine
 * has files of all users, and what is read serves for days. A user who names processes wants to see
 * these from their first moment on, and to ask for lines is to wait for them.
 */
#define READING_NS	 10000000000ull
#define READING_PART	 10
#define READING_FEW_NS	 60000000000ull
#define READING_FEW_PART 2
#define READING_ROUND_NS 500000000ull /* rings hold a second */

/* Stacks of a process that are handed over at most while it is not known; without a rate. */
#define PATIENCE_AT_ANY_RATE 16384

int samples_new(const struct samples_options *options, struct film_writer *film,
		struct samples **result, struct fail *why)
{
	struct samples *samples = calloc(1, sizeof(*samples));
	struct targets_listener listener = samples_listener(samples);
	struct spaces_maps maps = {
		.chunks = bpf_map__fd(options->probes->maps.unwind_chunks),
		.rules = bpf_map__fd(options->probes->maps.unwind_rule_map),
		.spaces = bpf_map__fd(options->probes->maps.unwind_spaces),
	};
	const bool is_asked_for =
		options->few_processes || options->symbols.lines || options->symbols.inlines;
	struct symbol_options symbols = options->symbols;
	int err = -ENOMEM;

	if (!samples)
		return fail_errno(why, err, NULL, "cannot record");
	samples->film = film;
	samples->far = options->far;
	samples->films = 1;
	samples->image_new = options->image_new;
	samples->program_new = options->program_new;
	samples->process_gone = options->process_gone;
	samples->context = options->context;
	allowance_begin(&samples->allowance, is_asked_for ? READING_FEW_NS : READING_NS,
			is_asked_for ? READING_FEW_PART : READING_PART,
			is_asked_for ? READING_FEW_NS : READING_ROUND_NS, clock_ns());
	err = spaces_new(&maps, options->tables_limit,
			 options->rate ? 64 + 2 * options->rate : PATIENCE_AT_ANY_RATE,
			 options->few_processes, &samples->allowance, &samples->spaces, why);
	if (err) {
		samples_free(samples);
		return err;
	}
	symbols.far = options->far;
	err = names_new(&symbols, film, options->probes, &samples->allowance, &samples->names);
	if (!err)
		err = runtimes_new(film, spaces_pool(samples->spaces),
				   bpf_map__fd(options->probes->maps.runtime_kept),
				   options->walkers, &samples->allowance, &samples->runtimes);
	if (!err)
		err = catalogue_new(film, samples->names, &samples->catalogue);
	if (!err)
		err = targets_new(&listener, &samples->targets);
	if (err) {
		samples_free(samples);
		return fail_errno(why, err, NULL, "cannot record");
	}
	samples->rows.film = film;
	samples->rows.catalogue = samples->catalogue;
	samples->rows.runtimes = samples->runtimes;
	targets_read_far(samples->targets, options->far);
	targets_ignore_strangers(samples->targets, options->few_processes);
	*result = samples;
	return 0;
}

void samples_free(struct samples *samples)
{
	if (!samples)
		return;
	/* first, since it tells the others that its processes and images go */
	if (samples->targets)
		targets_free(samples->targets);
	catalogue_free(samples->catalogue);
	names_free(samples->names);
	runtimes_free(samples->runtimes);
	spaces_free(samples->spaces);
	free(samples);
}

void samples_event(struct samples *samples, const struct target_event *event)
{
	targets_handle(samples->targets, event);
}

void samples_events_lost(struct samples *samples)
{
	targets_distrust_all(samples->targets);
}

/* Whether what a walk took for code that a runtime has made is none. */
static bool is_wrong(const struct process *process, uint64_t assumed)
{
	const struct mapping *mapping = assumed ? process_mapping(process, assumed) : NULL;

	return assumed && (!mapping || mapping->image->kind != IMAGE_ANON);
}

/* Goes on where the kernel side stopped. Returns why the stack ends. */
static enum unwind_end finish(struct samples *samples, struct process *process,
			      struct filmed_process *filmed, const struct capture_record *record,
			      const struct capture_handover *handover, uint32_t *count)
{
	struct unwind_registers at = {
		.pc = handover->pc,
		.sp = handover->sp,
		.fp = handover->fp,
		.saved_at = handover->saved_at,
		.known = handover->known,
		.fp_known = handover->fp_known,
		.pc_exact = handover->pc_exact,
		.guess = handover->guess,
		.missed = handover->missed,
		.tls = handover->tls,
	};
	struct unwind_copy stack = {
		.base = handover->sp - CAPTURE_BELOW,
		.bytes = (const uint8_t *)(handover + 1),
		.size = handover->copied,
		.missing = handover->missing,
	};
	struct space *space = &filmed->space;
	uint32_t reread_generation;
	int end;

	memcpy(at.registers, handover->registers, sizeof(at.registers));
	for (;;) {
		if (!process->mapping_count && !targets_reread(samples->targets, process))
			return UNWIND_END_UNMAPPED;
		if ((space->process_generation != process->generation || !space->process ||
		     space->exec_id != record->identity.exec_id) &&
		    samples_publish(samples, filmed, process, record->identity.exec_id))
			return UNWIND_END_LATER;
		end = spaces_finish(samples->spaces, space, &stack, &at, handover->is_still,
				    samples->frames, count);
		if (end == UNWIND_END_ROOT && at.missed)
			return UNWIND_END_RUNTIME_LATER;
		if (end != UNWIND_END_UNMAPPED)
			return (enum unwind_end)end;
		/*
		 * perhaps an event is still to come that tells of the mapping; wild addresses must
		 * not cost much
		 */
		if (record->head.time - filmed->last_reread < REREAD_NS)
			return UNWIND_END_UNMAPPED;
		filmed->last_reread = record->head.time;
		reread_generation = process->generation;
		if (!targets_reread(samples->targets, process) ||
		    process->generation == reread_generation)
			return UNWIND_END_UNMAPPED;
	}
}

/*
 * Cuts a stack behind the first frame whose address meant something else than what the walk used.
 */
static bool cut_stale(const struct filmed_process *filmed, const struct capture_record *record,
		      const uint64_t *frames, uint32_t *count)
{
	uint32_t i;

	if (!record->generation)
		return false;
	for (i = 0; i < *count; i++) {
		uint64_t at = frames[i] & ~UNWIND_GUESS;

		if (frames[i] & UNWIND_IS_RUNTIME) {
			i++;
			continue;
		}
		vec_foreach (&filmed->stale, range) {
			if (record->head.time < range->time ||
			    record->generation > range->generation || at < range->start ||
			    at >= range->end)
				continue;
			*count = i + 1;
			return true;
		}
	}
	return false;
}

static void count_stranger(struct samples *samples, const struct capture_record *record)
{
	uint32_t source = CAPTURE_KIND_SOURCE(record->head.kind);

	if (source < CAPTURE_SOURCE_COUNT)
		samples->statistics.strangers[source]++;
}

/* A process that ended before anything was known about it: only the kernel's frames can be kept. */
static struct samples_place place_of_stranger(struct samples *samples,
					      const struct capture_record *record)
{
	const uint64_t *frames = (const uint64_t *)(record + 1);
	struct samples_place place = {
		.thread = catalogue_stranger(samples->catalogue, &record->identity)};
	bool whole = true;

	if (record->has_user) {
		count_stranger(samples, record);
		whole = stack_push_mark(&samples->rows, &place.stack, UNWIND_END_LATER);
	} else {
		samples->statistics.complete++;
	}
	if (whole)
		stack_push_kernel(&samples->rows, &place.stack, frames + record->user_frames,
				  record->kernel_frames);
	return place;
}

/* Of a 32-bit program the leaf is all that is known; how many frames that makes. */
static uint32_t leaf_of_32_bit(struct samples *samples, struct process *process, uint64_t at)
{
	if (!process_mapping(process, at) && !process->mapping_count)
		targets_reread(samples->targets, process);
	return process_mapping(process, at) != NULL;
}

/* Whether a stack that was handed over is the one of this record: it comes right before it. */
static bool belongs(const struct capture_handover *handover, const struct capture_record *record)
{
	return record->handed_over && handover && handover->tid == record->identity.tid &&
	       handover->head.time == record->head.time;
}

struct samples_place samples_resolve(struct samples *samples, const struct capture_record *record,
				     const struct capture_handover *handover)
{
	const uint64_t *recorded = (const uint64_t *)(record + 1);
	struct process *process = targets_find(samples->targets, (pid_t)record->identity.pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;
	struct samples_place place = {0};
	uint32_t count = record->user_frames;
	enum unwind_end end = record->end;
	struct stack_user user;

	samples->statistics.samples++;
	samples->frame_count = 0;
	samples->last_end = UNWIND_END_LATER;
	if (!filmed)
		return place_of_stranger(samples, record);
	place.thread =
		catalogue_thread(samples->catalogue, &filmed->row, process, &record->identity);
	if (filmed->space.process && filmed->space.exec_id == UNWIND_ANY_EXEC)
		spaces_confirm(samples->spaces, &filmed->space, record->identity.exec_id);
	if (filmed->runtimes.waiting || spaces_is_waiting(&filmed->space))
		samples_look_again(samples, filmed, process, record->head.time);
	samples_renew(samples, filmed, process, record);
	memcpy(samples->frames, recorded, count * sizeof(*recorded));
	if (is_wrong(process, record->assumed)) {
		samples->statistics.stale++;
		end = UNWIND_END_STALE;
		count = 0;
	} else if (filmed->stale.count && cut_stale(filmed, record, samples->frames, &count)) {
		samples->statistics.stale++;
		end = UNWIND_END_STALE;
	} else if (belongs(handover, record)) {
		samples->statistics.handed_over++;
		end = finish(samples, process, filmed, record, handover, &count);
	} else if (end == UNWIND_END_32_BIT && count) {
		count = leaf_of_32_bit(samples, process, samples->frames[0]);
	}
	samples->statistics.complete += end == UNWIND_END_ROOT;
	samples->frame_count = count;
	samples->last_end = end;
	user = (struct stack_user){process,	    &filmed->row, &filmed->runtimes,
				   samples->frames, count,	  record->head.time};
	if (stack_push_context(&samples->rows, &place.stack, &user, record->context) &&
	    (end == UNWIND_END_ROOT || stack_push_mark(&samples->rows, &place.stack, end)) &&
	    stack_push_user(&samples->rows, &place.stack, &user))
		stack_push_kernel(&samples->rows, &place.stack, recorded + record->user_frames,
				  record->kernel_frames);
	return place;
}

uint32_t samples_push_frames(struct samples *samples, uint32_t stack,
			     const struct stack_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		if (!stack_push(&samples->rows, &stack, frames->at[i].frame, frames->at[i].how))
			break;
	return stack;
}

struct samples_place samples_resolve_known(struct samples *samples,
					   const struct capture_record *record,
					   const struct capture_handover *handover,
					   struct samples_known *known)
{
	struct process *process = targets_find(samples->targets, (pid_t)record->identity.pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;
	bool is_settled = filmed && !filmed->stale.count && !filmed->renew &&
			  !filmed->runtimes.waiting && !spaces_is_waiting(&filmed->space);
	uint64_t complete = samples->statistics.complete;
	struct samples_place place = {0};

	if (is_settled && known->film == samples->films &&
	    known->generation == process->generation) {
		samples->statistics.samples++;
		samples->statistics.complete += known->complete;
		samples->frame_count = 0;
		place.stack = known->stack;
		place.thread = catalogue_thread(samples->catalogue, &filmed->row, process,
						&record->identity);
		return place;
	}
	place = samples_resolve(samples, record, handover);
	*known = (struct samples_known){0};
	if (is_settled && place.stack) {
		known->stack = place.stack;
		known->film = samples->films;
		known->generation = process->generation;
		known->complete = samples->statistics.complete != complete;
	}
	return place;
}

uint32_t samples_words(struct samples *samples, uint32_t stack, const char *words)
{
	stack_push(&samples->rows, &stack, catalogue_words(samples->catalogue, words, ""),
		   FILM_HOW_EXACT);
	return stack;
}

uint32_t samples_mark(struct samples *samples, const char *words)
{
	return samples_mark_at(samples, words, "");
}

uint32_t samples_mark_at(struct samples *samples, const char *words, const char *place)
{
	return catalogue_words(samples->catalogue, words, place);
}

void samples_add(struct samples *samples, uint32_t event, uint64_t time,
		 const struct samples_place *place, uint64_t value)
{
	film_sample(samples->film, event, time, place->thread, place->stack, value);
}

void samples_count_row(struct samples *samples)
{
	samples->statistics.samples++;
	samples->statistics.rows++;
}

void samples_add_record(struct samples *samples, uint32_t event,
			const struct capture_record *record,
			const struct capture_handover *handover)
{
	struct samples_place place = samples_resolve(samples, record, handover);

	film_sample_row(samples->film, event,
			&(struct film_sample){
				.time = record->head.time,
				.value = record->identity.value,
				.thread = place.thread,
				.stack = place.stack,
				.cpu = record->identity.cpu,
			});
}

uint32_t samples_thread(struct samples *samples, const struct capture_identity *identity)
{
	struct process *process = targets_find(samples->targets, (pid_t)identity->pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;

	return filmed ? catalogue_thread(samples->catalogue, &filmed->row, process, identity)
		      : catalogue_stranger(samples->catalogue, identity);
}

uint32_t samples_other_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t start,
			      const char comm[16])
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;

	return filmed ? catalogue_other_thread(samples->catalogue, &filmed->row, process, tid,
					       start, comm)
		      : 0;
}

uint32_t samples_lane(struct samples *samples, pid_t pid, uint64_t number, uint64_t start,
		      const char *name)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed = process ? samples_filmed(process) : NULL;

	return filmed ? catalogue_lane(samples->catalogue, &filmed->row, process, number, start,
				       name)
		      : 0;
}

const uint64_t *samples_last_words(const struct samples *samples, uint32_t *count)
{
	*count = samples->frame_count;
	return samples->frames;
}

void samples_keep_codes(struct samples *samples)
{
	samples->rows.keeps_codes = true;
	runtimes_keep_codes(samples->runtimes);
}

struct lock_frames samples_last_codes(const struct samples *samples)
{
	return samples->frame_count ? samples->rows.codes : (struct lock_frames){0};
}

bool samples_has_thread(struct samples *samples, pid_t pid, pid_t tid, uint64_t since,
			char comm[16])
{
	const struct process *process = targets_find(samples->targets, pid);

	return process && targets_has_thread(samples->targets, process, tid, since, comm);
}

uint32_t samples_variable(struct samples *samples, const struct image *image, uint64_t address,
			  const char *name)
{
	return catalogue_variable(samples->catalogue, image, address, name);
}

bool samples_locks(struct samples *samples, pid_t pid, struct runtimes_lock *locks)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed && runtimes_locks(&filmed->runtimes, process, locks);
}

int samples_vthreads(struct samples *samples, pid_t pid, uint32_t object,
		     struct vthreads_process *to, struct fail *why)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed ? runtimes_vthreads(&filmed->runtimes, process, object, to, why) : -EAGAIN;
}

bool samples_lock_thread(struct samples *samples, pid_t pid, uint64_t thread)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed && runtimes_lock_thread(&filmed->runtimes, process, thread);
}

uint32_t samples_lock_owner(struct samples *samples, pid_t pid, uint64_t owner)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed ? runtimes_lock_owner(&filmed->runtimes, process, owner) : 0;
}

bool samples_park_class(struct samples *samples, pid_t pid, uint64_t klass)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed && runtimes_park_class(&filmed->runtimes, process, klass);
}

bool samples_class_name(struct samples *samples, pid_t pid, uint64_t klass, char *to, size_t size)
{
	struct process *process = targets_known(samples->targets, pid);
	struct filmed_process *filmed = process ? process->owner : NULL;

	return filmed && runtimes_class_name(&filmed->runtimes, process, klass, to, size);
}

void samples_spans(struct samples *samples, pid_t pid, const struct runtime_memory *memory,
		   struct runtime_spans *spans)
{
	struct process *process = targets_find(samples->targets, pid);
	struct filmed_process *filmed =
		process && runtimes_may_have_spans(process) ? samples_filmed(process) : NULL;

	if (!filmed)
		return;
	/* the code that walks its stacks must learn that */
	filmed->renew |= runtimes_look(samples->runtimes, &filmed->runtimes, process);
	runtimes_spans(&filmed->runtimes, process, memory, spans);
}

const struct process *samples_process(struct samples *samples, pid_t pid)
{
	return targets_find(samples->targets, pid);
}

void samples_each_process(const struct samples *samples,
			  void (*emit)(void *context, const struct process *process), void *context)
{
	targets_each(samples->targets, emit, context);
}

uint64_t samples_end_of(struct samples *samples, pid_t pid)
{
	const struct process *process = samples_process(samples, pid);

	return process && process->end ? process->end : clock_ns();
}

void samples_next_round(struct samples *samples)
{
	allowance_next_round(&samples->allowance, false);
}

void samples_tidy(struct samples *samples, uint64_t now)
{
	if (now > REMEMBER_NS)
		targets_forget_before(samples->targets, now - REMEMBER_NS);
	spaces_catch_up(samples->spaces);
	spaces_settle(samples->spaces);
	samples_ask_resources(samples, false);
}

void samples_name_early(struct samples *samples, uint64_t now)
{
	names_early(samples->names, now);
}

bool samples_settle_names(struct samples *samples, uint64_t now)
{
	return names_settle(samples->names, now);
}

void samples_name_last(struct samples *samples)
{
	allowance_begin(&samples->allowance, samples->allowance.most, samples->allowance.part,
			samples->allowance.most, clock_ns());
	names_all(samples->names);
	samples_ask_resources(samples, true);
}

void samples_name_all(struct samples *samples)
{
	/* what has no name now will have none in this film */
	allowance_next_round(&samples->allowance, true);
	names_all(samples->names);
}

void samples_turn(struct samples *samples, struct film_writer *film)
{
	samples->film = samples->rows.film = film;
	samples->films++;
	catalogue_turn(samples->catalogue, film);
	names_turn(samples->names, film);
	runtimes_turn(samples->runtimes, film);
}

void samples_statistics(const struct samples *samples, struct samples_statistics *statistics)
{
	struct target_counts counts = targets_counts(samples->targets);

	*statistics = samples->statistics;
	statistics->unreadable_files = counts.unopened_images;
	statistics->unanswered = far_files_counts(samples->far).refused;
	statistics->refused =
		counts.refused_processes + counts.refused_threads + counts.refused_mappings;
	names_statistics(samples->names, &statistics->frames_wanted, &statistics->frames_named);
	runtimes_refusal(samples->runtimes, statistics->refusal, sizeof(statistics->refusal));
	runtimes_report_losses(samples->runtimes);
	spaces_statistics(samples->spaces, &statistics->tables);
}
