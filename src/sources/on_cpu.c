// SPDX-License-Identifier: Apache-2.0
/*
 * on-cpu: one perf event per CPU that calls a BPF program F times a second of CPU time. Hardware
 * cycles where the machine has them (they also see code that runs with interrupts off), else the
 * kernel's CPU clock.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/thread.h"
#include "attach/perf_events.h"
#include "film/events.h"
#include "bpf/probes.skel.h"

struct on_cpu {
	const char *name;	/* "cycles" or "cpu-clock" */
	unsigned int frequency; /* samples per second, 1 to 10,000 */
	struct perf_event_attr attr;
	struct bpf_program *program;
	struct perf_events events;
};

/* The order of its options. */
enum {
	FREQUENCY,
	SAMPLE_CPU,
	TRACE_IDS,
};

static unsigned int frequency_of(const struct source *source)
{
	return (unsigned int)source->settings->values[FREQUENCY];
}

static struct perf_event_attr cycles_event(const struct source *source)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.freq = 1,
		.sample_freq = frequency_of(source),
		.exclude_idle = 1,
		.exclude_kernel = source->host->user_only,
		.exclude_user = source->host->kernel_only,
		.exclude_hv = 1,
	};
}

static struct perf_event_attr clock_event(const struct source *source)
{
	struct perf_event_attr attr = cycles_event(source);

	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_CPU_CLOCK;
	/* a fixed period: the clock needs no control loop that finds it */
	attr.freq = 0;
	attr.sample_period = 1000000000u / frequency_of(source);
	return attr;
}

static int refuse(int err, const struct on_cpu *on_cpu, struct fail *why)
{
	if (err == -EACCES || err == -EPERM)
		return fail(why, -EPERM,
			    "run as root, or grant CAP_PERFMON and CAP_BPF ('stackcam doctor' "
			    "lists all)",
			    "cannot sample CPUs: perf_event_open is not permitted");
	if (err == -EINVAL)
		return fail(why, err, "choose a lower -F, or raise that limit",
			    "cannot sample CPUs %u times a second: the kernel's limit "
			    "kernel.perf_event_max_sample_rate is lower",
			    on_cpu->frequency);
	return fail_errno(why, err, "see 'stackcam doctor'", "cannot sample CPUs");
}

struct all_cpus {
	const struct source *source;
	struct on_cpu *on_cpu;
};

static int sample_cpu(void *context, unsigned int cpu, struct fail *why)
{
	struct all_cpus *all = context;
	struct on_cpu *on_cpu = all->on_cpu;
	int err = perf_events_add(&on_cpu->events, &on_cpu->attr, on_cpu->program, cpu);

	if ((err == -ENOENT || err == -EOPNOTSUPP || err == -ENXIO) && !on_cpu->events.all.count &&
	    on_cpu->attr.type == PERF_TYPE_HARDWARE) {
		on_cpu->name = "cpu-clock";
		on_cpu->attr = clock_event(all->source);
		err = perf_events_add(&on_cpu->events, &on_cpu->attr, on_cpu->program, cpu);
	}
	/* it went offline since the list was read */
	if (err == -ENODEV)
		return 0;
	return err ? refuse(err, on_cpu, why) : 0;
}

static unsigned int needs(const struct source *source)
{
	(void)source;
	return SOURCE_STACKS | SOURCE_BEFORE_EXEC;
}

static uint64_t period_of(const struct source *source)
{
	return 1000000000ull / frequency_of(source);
}

static void prepare(struct source *source)
{
	source->host->probes->rodata->on_cpu_period = period_of(source);
	source->host->probes->rodata->on_cpu_sample_cpu = source->settings->values[SAMPLE_CPU];
	source->host->probes->rodata->otel_wants_ids = source->settings->values[TRACE_IDS];
}

static int attach(struct source *source, struct fail *why)
{
	struct on_cpu *on_cpu = source->state = calloc(1, sizeof(*on_cpu));
	struct all_cpus all = {source, on_cpu};
	int err;

	if (!on_cpu)
		return fail_errno(why, -ENOMEM, NULL, "cannot sample CPUs");
	on_cpu->frequency = frequency_of(source);
	on_cpu->program = source->host->probes->progs.on_cpu;
	on_cpu->name = "cycles";
	on_cpu->attr = cycles_event(source);
	err = cpus_each_online(sample_cpu, &all, why);
	if (!err && !on_cpu->events.all.count)
		err = refuse(-ENODEV, on_cpu, why);
	return err;
}

static void describe(const struct source *source, struct film_event *event)
{
	const struct on_cpu *on_cpu = source->state;

	event->source = on_cpu->name;
	event->frequency = on_cpu->frequency;
}

static int start(struct source *source, struct fail *why)
{
	const struct on_cpu *on_cpu = source->state;

	return perf_events_start(&on_cpu->events, why);
}

static void handle_sample(struct source *source, const struct capture_record *record,
			  const struct capture_handover *handover)
{
	/* of the time in which other probes were set, a film has nothing */
	if (record->head.time >= source->host->since && source_is_meant(source, &record->identity))
		samples_add_record(source->host->samples, source->event, record, handover);
}

static void detach(struct source *source)
{
	struct on_cpu *on_cpu = source->state;

	if (on_cpu)
		perf_events_free(&on_cpu->events);
}

static void free_state(struct source *source)
{
	detach(source);
	free(source->state);
}

static const struct source_record records[] = {
	SOURCE_RECORD_WITH_STACK(CAPTURE_ON_CPU, handle_sample),
	{0},
};

static const struct source_event events[] = {{EVENT_ON_CPU, "samples"}, {0}};

static const struct source_option options[] = {
	[FREQUENCY] = {"frequency", 'F', false, "HZ",
		       "samples per second and CPU, 1 to 10000 (default 99)", 1, 10000, 99},
	[SAMPLE_CPU] = {"sample-cpu", 0, false, NULL,
			"of on-cpu: keep the CPU of each sample, for report --by cpu", 0, 1, 0},
	[TRACE_IDS] =
		{"trace-ids", 0, false, NULL,
		 "of on-cpu, and of events beside it: labels also have the trace and the span "
		 "that programs publish of their threads",
		 0, 1, 0},
	{0},
};

const struct source_type source_on_cpu = {
	.events = events,
	.describe = describe,
	.options = options,
	.needs = needs,
	.rate = frequency_of,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.detach = detach,
	.free = free_state,
};
