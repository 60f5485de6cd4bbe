// SPDX-License-Identifier: Apache-2.0
#include "record/camera.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "record/arrivals.h"
#include "record/drain.h"
#include "attach/feature.h"
#include "attach/filter.h"
#include "attach/holds.h"
#include "attach/links.h"
#include "resolve/hung_files.h"
#include "record/loaded.h"
#include "record/losses.h"
#include "record/relief.h"
#include "attach/rings.h"
#include "record/running.h"
#include "resolve/samples.h"
#include "record/sources.h"
#include "bpf/probes.skel.h"
#include "process/far_files.h"
#include "process/program.h"
#include "process/sideband.h"

#define TABLES_LIMIT_DEFAULT (96ull << 20)
#define SIDEBAND_PAGES	     64
#define RECORDER_NICE	     -20

/*
 * How long to read the rings may take before another thread empties them, and the longest time from
 * then until they are read again: that is due every quarter of a second.
 */
#define DRAIN_MOST_NS 20000000ull
#define PAUSE_MOST_NS 300000000ull

struct camera {
	struct camera_options options;
	struct far_files *far;
	struct hung_files hung;
	uint64_t far_returns; /* of its file systems, as far as they were reacted to */
	struct sources sources;
	struct probes *probes; /* loaded's */
	struct links follow;
	struct bpf_link *mappings; /* null where the kernel lacks the tracepoint */
	struct rings *rings;
	struct sideband *sideband;
	struct arrivals *arrivals; /* null: nothing is held until its probes are set */
	struct loaded loaded;
	struct samples *samples;
	struct drain *drain;
	struct relief *relief; /* null: not started, or stopped */
	struct film_writer *film;
	pid_t added;		   /* the process that was made to be filmed; 0: none */
	unsigned int cpus, online; /* possible ones, and those that are there */
	struct running running;	   /* looked at while the probes are loaded */
	uint64_t last_tidy;
	int epoll;
	struct samples_statistics final; /* once samples is gone, */
	char *const *expected;		 /* the command that will be executed; null: none */
	uint64_t begun;			 /* when its first film began */
	uint64_t stopped;		 /* the end of what its film has; 0: it goes on */
	uint64_t final_lost;		 /* and the losses that the film has */
	uint64_t final_unseen_ms;
	struct loss_table losses; /* since the start, over all films */
};

static bool needs(const struct camera *camera, enum source_needs what)
{
	return sources_needs(&camera->sources) & what;
}

static int load(struct camera *camera, struct fail *why)
{
	const struct camera_options *options = &camera->options;
	const struct loading loading = {
		.sources = &camera->sources,
		.cpus = camera->cpus,
		.online = camera->online,
		.loads_once = options->loads_once,
		.verbose = options->verbose,
		.say = options->say,
		.say_context = options->say_context,
	};
	int err = loaded_new(&loading, &camera->loaded, why);

	camera->probes = camera->loaded.probes;
	if (!err)
		camera->sources.host.until = &camera->probes->bss->capture_until;
	return err;
}

static int attach_follow(struct camera *camera, struct fail *why)
{
	/* of the whole machine, just when the command executes */
	struct bpf_program *const programs[] = {camera->probes->progs.follow_fork,
						camera->probes->progs.follow_exec,
						camera->probes->progs.follow_exit};

	return links_attach(&camera->follow, programs, sizeof(programs) / sizeof(programs[0]),
			    "follow the target's children", why);
}

/* One descriptor for all that may want to be drained. */
static int watch(struct camera *camera, struct fail *why)
{
	struct epoll_event wanted = {.events = EPOLLIN};

	camera->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (camera->epoll < 0 ||
	    epoll_ctl(camera->epoll, EPOLL_CTL_ADD, rings_fd(camera->rings), &wanted))
		return fail_errno(why, -errno, NULL, "cannot wait for samples");
	return 0;
}

/* A recorder that waits for a CPU loses samples just when the machine is busy. */
void camera_raise_priority(void)
{
	setpriority(PRIO_PROCESS, 0, RECORDER_NICE);
}

/* What is there before the probes fire. */
static int set_up(struct camera *camera, struct fail *why)
{
	const struct camera_options *options = &camera->options;
	struct source_host host = {
		.selection = options->selection,
		.kernel_only = options->kernel_only,
		.user_only = options->user_only,
		.live = options->names_soon,
		.ring_limit = options->ring_limit,
		.listener = options->listener,
		.limits = options->limits,
		.say = options->quiet ? NULL : options->say,
		.say_context = options->say_context,
	};
	int err = feature_demand(FEATURE_PROCESS_NUMBERS, why);

	if (!err && far_files_new(&camera->far))
		err = fail_errno(why, -ENOMEM, NULL, "cannot record");
	host.far = camera->far;
	if (!err)
		err = sources_make(&camera->sources, &host, options->sources, why);
	if (!err && needs(camera, SOURCE_STACKS))
		running_look(&camera->running, options->selection, sources_rate(&camera->sources));
	if (!err)
		err = load(camera, why);
	if (!err)
		err = rings_new(bpf_map__fd(camera->probes->maps.capture_rings),
				sources_ring_bytes(&camera->sources, camera->online),
				&camera->rings, why);
	if (!err)
		err = sideband_open(SIDEBAND_PAGES, &camera->sideband, why);
	if (!err)
		err = watch(camera, why);
	camera->sources.host.rings = camera->rings;
	if (!err)
		err = sources_attach(&camera->sources, why);
	if (!err)
		err = filter_fill(camera->probes, options->selection, why);
	if (!err)
		err = attach_follow(camera, why);
	/* without it, stacks through what was replaced are cut when user space hears that */
	if (!err && bpf_program__autoload(camera->probes->progs.mapping_placed))
		camera->mappings = bpf_program__attach(camera->probes->progs.mapping_placed);
	return err;
}

int camera_new(const struct camera_options *options, struct camera **result, struct fail *why)
{
	struct camera *camera = calloc(1, sizeof(*camera));
	int err, cpus = libbpf_num_possible_cpus();

	if (!camera || cpus <= 0) {
		free(camera);
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	}
	/*
	 * large tables that come and go leave no holes; by itself, malloc() would learn to keep
	 * them
	 */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	camera->options = *options;
	camera->epoll = -1;
	camera->cpus = (unsigned int)cpus;
	camera->online = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	camera_raise_priority();
	err = set_up(camera, why);
	if (err)
		camera_free(camera);
	else
		*result = camera;
	return err;
}

static void stop_probes(struct camera *camera)
{
	arrivals_stop(camera->arrivals);
	sources_detach(&camera->sources);
	bpf_link__destroy(camera->mappings);
	camera->mappings = NULL;
	links_free(&camera->follow);
}

void camera_free(struct camera *camera)
{
	if (!camera)
		return;
	relief_free(camera->relief);
	stop_probes(camera);
	arrivals_free(camera->arrivals);
	drain_free(camera->drain);
	sources_free(&camera->sources);
	running_forget(&camera->running);
	samples_free(camera->samples);
	if (camera->epoll >= 0)
		close(camera->epoll);
	sideband_close(camera->sideband);
	rings_free(camera->rings);
	loaded_free(&camera->loaded);
	far_files_free(camera->far);
	free(camera);
}

static void image_new(void *context, pid_t pid, const struct image *image)
{
	struct camera *camera = context;

	if (camera->arrivals)
		arrivals_image(camera->arrivals, pid, image);
	else
		sources_image_early(&camera->sources, pid, image);
}

static void program_new(void *context, const struct process *process)
{
	struct camera *camera = context;

	sources_program(&camera->sources, (pid_t)process->pid, process->exe);
}

static void process_gone(void *context, const struct process *process)
{
	struct camera *camera = context;

	sources_process_gone(&camera->sources, (pid_t)process->pid);
	if (process->end)
		sources_process_ended(&camera->sources, process->pid);
}

static int start_sources(struct camera *camera, struct fail *why)
{
	struct arrivals_parts parts = {camera->probes, camera->samples, &camera->sources,
				       camera->options.selection};
	int err;

	/* what it maps and executes later is probed too */
	if (camera->added && (needs(camera, SOURCE_IMAGES) || needs(camera, SOURCE_PROCESSES)))
		samples_follow(camera->samples, camera->added);
	err = sources_start(&camera->sources, why);
	if (!err && needs(camera, SOURCE_IMAGES) && !camera->loaded.without_holds) {
		err = arrivals_new(&parts, &camera->arrivals, why);
		drain_for(camera->drain, camera->arrivals);
	}
	/* on a busy machine, all that took its time, of which only a part is recorded */
	camera->begun = clock_ns();
	/* what is listed as it starts is all that a dump has */
	if (camera->sources.settings.at[CAPTURE_SOURCE_DUMP].on)
		return err;
	camera->sources.host.since = camera->begun;
	film_begins_anew(camera->film, camera->begun);
	return err;
}

void camera_expect(struct camera *camera, char *const *argv)
{
	camera->expected = argv;
}

/* Before probes are on: the command waits for this, and that wait is none of its own. */
static void read_expected(struct camera *camera)
{
	struct program program = {0};
	struct fail ignored;

	if (!camera->expected || !needs(camera, SOURCE_STACKS))
		return;
	/* what is wrong with it, its start says */
	if (!program_find(camera->expected, &program, &ignored))
		samples_expect_program(camera->samples, &program);
	program_free(&program);
}

int camera_start(struct camera *camera, struct film_writer *film, struct fail *why)
{
	struct samples_options options = {
		.probes = camera->probes,
		.far = camera->far,
		.walkers = camera->loaded.walkers,
		.tables_limit = camera->options.tables_limit ? camera->options.tables_limit
							     : TABLES_LIMIT_DEFAULT,
		.rate = sources_rate(&camera->sources),
		.symbols = camera->options.symbols,
		.few_processes = !camera->options.selection->whole_machine,
		.image_new = image_new,
		.program_new = program_new,
		.process_gone = process_gone,
		.context = camera,
	};
	struct drain_parts parts = {
		.rings = camera->rings,
		.sideband = camera->sideband,
		.sources = &camera->sources,
		.until = camera->sources.host.until,
	};
	int err = samples_new(&options, film, &camera->samples, why);

	if (err)
		return err;
	camera->film = camera->sources.host.film = film;
	camera->sources.host.samples = parts.samples = camera->samples;
	if (camera->options.names_soon)
		film_names_follow(film);
	if (drain_new(&parts, &camera->drain))
		return fail_errno(why, -ENOMEM, NULL, "cannot record");
	err = relief_new(camera->rings, camera->sideband, &camera->relief, why);
	if (err)
		return err;
	relief_expect(camera->relief, DRAIN_MOST_NS);
	read_expected(camera);
	running_follow(&camera->running, camera->samples, camera->options.selection,
		       sources_needs(&camera->sources));
	return start_sources(camera, why);
}

int camera_add_process(struct camera *camera, pid_t pid, struct fail *why)
{
	camera->added = pid;
	if (needs(camera, SOURCE_BEFORE_EXEC)) {
		camera->sources.host.command = pid;
		camera->probes->bss->filter_command = (uint32_t)pid;
	}
	/* what the child of our own does before it is the command is usually of no interest */
	return needs(camera, SOURCE_BEFORE_EXEC) ? filter_add(camera->probes, pid, why)
						 : filter_add_at_exec(camera->probes, pid, why);
}

void camera_follow_begin(struct camera *camera)
{
	if (needs(camera, SOURCE_STACKS))
		samples_follow_begin(camera->samples, camera->added);
}

int camera_fd(const struct camera *camera)
{
	return camera->epoll;
}

static struct losses_sums write_losses(struct camera *camera, struct film_writer *film)
{
	struct samples_statistics samples = camera->final;
	struct losses_counts counts = {
		.kernel_map = bpf_map__fd(camera->probes->maps.capture_losses),
		.cpus = camera->cpus,
		.sources = &camera->sources,
		.events_lost = drain_events_lost(camera->drain),
		.handovers_dropped = rings_aside(camera->rings).handovers_dropped,
		.samples = &samples,
	};

	if (camera->samples)
		samples_statistics(camera->samples, &samples);
	return losses_write(&counts, film, &camera->losses);
}

/* Files whose file system did not answer are opened when it does again. */
static void look_at_files(struct camera *camera, uint64_t now)
{
	const struct camera_options *options = &camera->options;
	uint64_t returns = far_files_counts(camera->far).returns;

	hung_files_look(&camera->hung, camera->far, now, options->say, options->say_context);
	if (returns == camera->far_returns)
		return;
	camera->far_returns = returns;
	samples_events_lost(camera->samples);
}

/* The time, but not beyond the end of the recording. */
static uint64_t time_now(const struct camera *camera)
{
	const uint64_t until = *camera->sources.host.until, now = clock_ns();

	return until && until < now ? until : now;
}

static int drain(struct camera *camera, uint64_t now, struct fail *why)
{
	int err;

	samples_next_round(camera->samples);
	err = drain_step(camera->drain, now, why);
	/* the rest is for camera_stop(), which first takes the probes out */
	if (err || (!camera->stopped && time_now(camera) == *camera->sources.host.until))
		return err;
	samples_name_early(camera->samples, now);
	if (now - camera->last_tidy < 1000000000ull)
		return 0;
	camera->last_tidy = now;
	look_at_files(camera, now);
	samples_tidy(camera->samples, now);
	sources_tick(&camera->sources, now);
	arrivals_tick(camera->arrivals, now);
	write_losses(camera, camera->film);
	if (camera->options.names_soon && samples_settle_names(camera->samples, now))
		film_names_settled(camera->film);
	return film_commit(camera->film, now, false, why);
}

int camera_drain(struct camera *camera, struct fail *why)
{
	int err;

	relief_expect(camera->relief, DRAIN_MOST_NS);
	err = drain(camera, time_now(camera), why);
	relief_expect(camera->relief, PAUSE_MOST_NS);
	return err;
}

void camera_end_at(struct camera *camera, uint64_t time)
{
	volatile unsigned long long *until = &camera->probes->bss->capture_until;

	if (!*until || time < *until)
		*until = time;
}

/*
 * What a probe has taken the time of is written soon, but a CPU of a virtual machine may stop in
 * between. Probes run within a read-side section of RCU, and this awaits those that have begun.
 * (With nohz_full the kernel refuses; then some of what is late is of the next film, or a hole.)
 */
void camera_await_probes(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

int camera_turn(struct camera *camera, struct film_writer *film, uint64_t *turned, struct fail *why)
{
	uint64_t now;
	int err;

	relief_expect(camera->relief, DRAIN_MOST_NS);
	err = drain_step(camera->drain, clock_ns(), why);
	sources_closing(&camera->sources);
	*turned = now = clock_ns();
	camera_await_probes();
	if (!err)
		err = drain_step(camera->drain, now, why);
	sources_leave(&camera->sources, now);
	write_losses(camera, camera->film);
	samples_name_all(camera->samples);
	if (!film_continue(film, camera->film) && !err)
		err = fail_errno(why, -ENOMEM, NULL, "cannot go on with another film");
	camera->film = film;
	film_begins(film, now);
	if (camera->options.names_soon)
		film_names_follow(film);
	samples_turn(camera->samples, film);
	sources_turn(&camera->sources, film);
	relief_expect(camera->relief, PAUSE_MOST_NS);
	return err;
}

void camera_loss(struct camera *camera, const char *words, uint64_t samples)
{
	film_loss(camera->film, sources_event(&camera->sources), words, samples);
}

uint64_t camera_begun(const struct camera *camera)
{
	return camera->begun;
}

uint64_t camera_stopped(const struct camera *camera)
{
	return camera->stopped;
}

int camera_stop(struct camera *camera, struct fail *why)
{
	int err;

	camera_end_at(camera, clock_ns());
	if (camera->samples)
		sources_closing(&camera->sources);
	stop_probes(camera);
	camera->stopped = time_now(camera);
	/* it was to end before it had begun */
	if (camera->stopped < camera->begun)
		camera->stopped = camera->begun;
	relief_free(camera->relief);
	camera->relief = NULL;
	if (!camera->samples)
		return 0;
	/*
	 * what happened up to then: a busy machine may take long for it, and no thread waits for
	 * that
	 */
	err = camera->drain ? drain(camera, camera->stopped, why) : 0;
	sources_finish(&camera->sources, camera->stopped);
	write_losses(camera, camera->film);
	samples_name_last(camera->samples);
	/* what was lost when names were looked for, too */
	write_losses(camera, camera->film);
	look_at_files(camera, clock_ns());
	samples_statistics(camera->samples, &camera->final);
	/* it writes to the film until its end, and the film's owner is about to close that */
	samples_free(camera->samples);
	camera->samples = camera->sources.host.samples = NULL;
	camera->final_lost = film_lost(camera->film);
	camera->final_unseen_ms = film_unseen_ms(camera->film);
	return err;
}

size_t camera_hung(const struct camera *camera, uint64_t *since)
{
	*since = camera->hung.since;
	return camera->hung.count;
}

void camera_statistics(struct camera *camera, struct camera_statistics *statistics)
{
	struct samples_statistics samples = camera->final;
	struct losses_sums losses = write_losses(camera, NULL);
	uint64_t known = losses.samples + losses.copies, told;
	struct holds_counts held = arrivals_held(camera->arrivals);

	*statistics = (struct camera_statistics){0};
	if (camera->samples)
		samples_statistics(camera->samples, &samples);
	statistics->samples = samples.samples;
	statistics->rows = samples.rows;
	statistics->complete = samples.complete;
	statistics->handed_over = samples.handed_over;
	statistics->lost = losses.samples;
	told = camera->samples ? film_lost(camera->film) : camera->final_lost;
	/* what was counted since the last report is reported next time */
	statistics->other_losses = told > known ? told - known : 0;
	statistics->unseen_ms =
		camera->samples ? film_unseen_ms(camera->film) : camera->final_unseen_ms;
	statistics->table_bytes = samples.tables.bytes;
	statistics->tables = samples.tables.tables;
	statistics->rules = samples.tables.rules;
	memcpy(statistics->refusal, samples.refusal, sizeof(statistics->refusal));
	statistics->ring_bytes = rings_bytes(camera->rings);
	statistics->run_ns = sources_run_ns(&camera->sources);
	statistics->held = held.count;
	statistics->held_longest = held.longest;
	statistics->losses = &camera->losses;
}
