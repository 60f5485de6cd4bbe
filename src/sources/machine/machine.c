// SPDX-License-Identifier: Apache-2.0
/*
 * machine: what the whole machine did beside the threads that are filmed. CPUs, disks, network and
 * memory are read from /proc, --machine-rate times a second: to probe all that they do would cost
 * the machine more than to read sums that the kernel keeps anyway. Probes tell just what no file
 * does: for which thread a disk worked.
 *
 * All readings together take at most a 200th of one CPU: a machine whose /proc takes longer is read
 * more seldom, and each row says of how much time it is.
 */
#include "sources/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "attach/links.h"
#include "bpf/machine/abi.h"
#include "sources/loss_counts.h"
#include "sources/machine/disks.h"
#include "sources/machine/ports.h"
#include "sources/machine/groups.h"
#include "sources/machine/series.h"
#include "sources/machine/tcp.h"
#include "film/events.h"
#include "bpf/probes.skel.h"
#include "process/procfs.h"

#define SHARE	     200u /* of a CPU's time, one part in this many */
#define RATE_USUAL   10
#define RATE_MAX     50
#define FILE_MAX     (4u << 20)
#define RING_BYTES   (256u << 10) /* some thousand requests to disks */
#define DISKS_MAX    4096	  /* whose names are kept */
#define MOUNTS_BYTES (16u << 20)
#define GROUPS_SHARE 1000u /* the same of what looks at control groups */
#define PAUSE_MAX    (10 * SECOND_NS)

/* A reading that takes longer was interrupted: of which moment its values are is not known. */
#define AT_ONCE_NS 5000000ull
#define TRIES_MAX  4

enum file {
	FILE_STAT,
	FILE_DISKSTATS,
	FILE_INTERFACES,
	FILE_SNMP,
	FILE_MEMINFO,
	FILE_VMSTAT,
	FILE_PRESSURE_CPU,
	FILE_PRESSURE_DISK,
	FILE_PRESSURE_MEMORY,
	FILES
};

static const char *const paths[FILES] = {
	[FILE_STAT] = "/proc/stat",
	[FILE_DISKSTATS] = "/proc/diskstats",
	[FILE_INTERFACES] = "/proc/net/dev",
	[FILE_SNMP] = "/proc/net/snmp",
	[FILE_MEMINFO] = "/proc/meminfo",
	[FILE_VMSTAT] = "/proc/vmstat",
	[FILE_PRESSURE_CPU] = "/proc/pressure/cpu",
	[FILE_PRESSURE_DISK] = "/proc/pressure/io",
	[FILE_PRESSURE_MEMORY] = "/proc/pressure/memory",
};

struct machine {
	struct links links;
	struct machine_series *series;
	struct machine_disks disks;
	struct machine_tcp tcp;
	struct machine_groups groups;
	uint64_t groups_read, groups_next; /* when that was done last, or is done next, at least */
	struct map whole;		   /* hash of a device's name: whether it is a whole disk */
	struct map rows; /* hash of a device's name: its row of the film, for requests */
	struct buf texts[FILES];
	uint64_t tick, page; /* ns, bytes */
	uint64_t last, next; /* reading */
	int errors[FILES];   /* of the last reading */
	uint64_t failed, unknown;
	bool has_notes; /* this film says what could not be read */
};

static uint64_t rate_of(const struct source *source)
{
	return source->settings->values[0];
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	(void)source;
	(void)cpus;
	return RING_BYTES;
}

/* The kernel tells of a request where it is made. */
static bool has_start(const struct btf *types)
{
	return types &&
	       btf__find_by_name_kind(types, "btf_trace_block_io_start", BTF_KIND_TYPEDEF) > 0;
}

static void prepare(struct source *source)
{
	struct probes *probes = source->host->probes;
	bool starts = has_start(source->host->types), is_on = rate_of(source);

	bpf_program__set_autoload(probes->progs.machine_start, is_on && starts);
	bpf_program__set_autoload(probes->progs.machine_issue, is_on && !starts);
	bpf_program__set_autoload(probes->progs.machine_done, is_on);
}

/* -- rows -------------------------------------------------------------------------------------- */

static void write_row(void *context, const struct film_gauge *row)
{
	const struct source *source = context;

	film_gauge(source->host->film, source->event, row);
	/* beside threads it is those that are counted */
	if (source->settings->events)
		samples_count_row(source->host->samples);
}

/* Beside threads, and turned off: a film that says it has it would have seen nothing. */
static bool has_event(const struct source *source, unsigned int event)
{
	(void)event;
	return rate_of(source) || source->settings->events;
}

/* Says in the film what is not known, and why. */
static void put_note(const struct source *source, uint64_t now, const char *words)
{
	const struct film_gauge note = {
		.end = now, .kind = FILM_GAUGE_NOTE, .object = source_mark((void *)source, words)};

	write_row((void *)source, &note);
}

static void put_notes(struct source *source, uint64_t now)
{
	struct machine *machine = source->state;
	char words[256];

	for (int file = 0; file < FILES; file++) {
		int err = machine->errors[file];

		/* of three files of the same, one stands for all */
		if (!err || file > FILE_PRESSURE_CPU)
			continue;
		if (file == FILE_PRESSURE_CPU)
			snprintf(words, sizeof(words),
				 "pressure is not known: the kernel does not measure it (psi=1 on "
				 "its command line turns that on)");
		else
			snprintf(words, sizeof(words), "%s cannot be read: %s", paths[file],
				 strerror(-err));
		put_note(source, now, words);
	}
	machine->has_notes = true;
}

/* -- readings ---------------------------------------------------------------------------------- */

static void add_value(void *context, const struct machine_value *value)
{
	struct machine *machine = context;

	machine_series_add(machine->series, value);
}

/* As machine_parse_diskstats() asks. */
static bool is_disk(void *context, const char *name)
{
	struct machine *machine = context;
	uint64_t key = hash_bytes(name, strlen(name));
	const uint64_t *known = map_get(&machine->whole, key);
	char path[128];
	bool is_whole;

	if (known)
		return *known;
	snprintf(path, sizeof(path), "/sys/block/%.64s", name);
	is_whole = *name != '.' && !strchr(name, '/') && !access(path, F_OK);
	if (machine->whole.count < DISKS_MAX)
		map_put(&machine->whole, key, is_whole);
	return is_whole;
}

static void parse_file(struct machine *machine, enum file file, char *text)
{
	const struct machine_to to = {add_value, machine};

	switch (file) {
	case FILE_STAT:
		machine_parse_stat(text, machine->tick, &to);
		break;
	case FILE_DISKSTATS:
		machine_parse_diskstats(text, is_disk, &to);
		break;
	case FILE_INTERFACES:
		machine_parse_interfaces(text, &to);
		break;
	case FILE_SNMP:
		machine_parse_snmp(text, &to);
		break;
	case FILE_MEMINFO:
		machine_parse_meminfo(text, &to);
		break;
	case FILE_VMSTAT:
		machine_parse_vmstat(text, machine->page, &to);
		break;
	case FILE_PRESSURE_CPU:
		machine_parse_pressure(text, FILM_GAUGE_PRESSURE_CPU, FILM_GAUGE_NOTE, &to);
		break;
	case FILE_PRESSURE_DISK:
		machine_parse_pressure(text, FILM_GAUGE_PRESSURE_DISK, FILM_GAUGE_PRESSURE_DISK_ALL,
				       &to);
		break;
	case FILE_PRESSURE_MEMORY:
		machine_parse_pressure(text, FILM_GAUGE_PRESSURE_MEMORY,
				       FILM_GAUGE_PRESSURE_MEMORY_ALL, &to);
		break;
	case FILES:
		break;
	}
}

/* Returns the moment that the values are of. */
static uint64_t read_texts(struct machine *machine)
{
	uint64_t begin, end;

	for (unsigned int tries = 0; tries < TRIES_MAX; tries++) {
		begin = clock_ns();
		for (int file = 0; file < FILES; file++)
			machine->errors[file] =
				procfs_read_file(paths[file], FILE_MAX, &machine->texts[file]);
		end = clock_ns();
		if (end - begin < AT_ONCE_NS)
			break;
	}
	return begin + (end - begin) / 2;
}

static void read_all(struct source *source)
{
	struct machine *machine = source->state;
	const struct machine_to to = {add_value, machine};
	/* not that of the round, which may be long past on a busy machine */
	uint64_t now = read_texts(machine), end = source_now(source);

	/* those of its last moment are read a little later */
	now = now < end ? now : end;
	machine_series_begin(machine->series, now);
	for (int file = 0; file < FILES; file++)
		if (!machine->errors[file])
			parse_file(machine, (enum file)file, (char *)machine->texts[file].at);
	machine_read_ports(MACHINE_PORTS_FOLDER, &to);
	machine->failed += machine_tcp_read(&machine->tcp, &to) != 0;
	machine_series_end(machine->series);
	if (machine->last)
		machine_disks_write(&machine->disks, machine->last, now, write_row, source);
	if (!machine->has_notes)
		put_notes(source, now);
	machine->last = now;
}

static void drained(struct source *source, uint64_t now)
{
	struct machine *machine = source->state;
	uint64_t used, rate = rate_of(source);

	if (!machine || !machine->series || !rate || now < machine->next)
		return;
	used = clock_thread_ns();
	read_all(source);
	used = clock_thread_ns() - used;
	machine->next = now + clock_pause(used, SHARE, PAUSE_MAX, SHARE);
	if (machine->next < now + SECOND_NS / rate)
		machine->next = now + SECOND_NS / rate;
}

/* -- requests to disks ------------------------------------------------------------------------- */

static uint32_t disk_row(struct source *source, const char *name)
{
	struct machine *machine = source->state;
	uint64_t key = hash_bytes(name, strlen(name));
	const uint64_t *known = map_get(&machine->rows, key);
	uint32_t row;

	if (known)
		return (uint32_t)*known;
	if (!*name || machine->rows.count >= DISKS_MAX)
		return 0;
	row = source_mark(source, name);
	if (row)
		map_put(&machine->rows, key, row);
	return row;
}

static void handle_request(struct source *source, const void *of)
{
	const struct machine_request *request = of;
	struct machine *machine = source->state;
	char name[MACHINE_DISK_NAME + 1] = "";
	uint32_t thread;

	memcpy(name, request->disk, sizeof(request->disk));
	machine->unknown += request->is_lost;
	thread = request->is_lost ? 0 : samples_thread(source->host->samples, &request->identity);
	machine_disks_add(&machine->disks, disk_row(source, name), thread, request->is_write,
			  request->bytes, request->took);
}

/* -- the verbs of a source --------------------------------------------------------------------- */

static int attach(struct source *source, struct fail *why)
{
	struct machine *machine = source->state = calloc(1, sizeof(*machine));
	const struct machine_series_to to = {source_mark, write_row, source};

	if (machine)
		machine->series = machine_series_new(&to);
	if (!machine || !machine->series)
		return fail_errno(why, -ENOMEM, NULL, "cannot record the machine");
	machine->next = UINT64_MAX;
	machine->tick = SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);
	machine->page = (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static void find_groups(struct machine *machine)
{
	struct buf text = {0};

	if (!procfs_read_file("/proc/self/mountinfo", MOUNTS_BYTES, &text))
		machine_groups_find(&machine->groups, (char *)text.at);
	buf_free(&text);
}

static int start(struct source *source, struct fail *why)
{
	struct machine *machine = source->state;
	const struct probes *probes = source->host->probes;
	struct bpf_program *const programs[] = {
		probes->progs.machine_start,
		probes->progs.machine_issue,
		probes->progs.machine_done,
	};
	int err;

	find_groups(machine);
	err = links_attach(&machine->links, programs, sizeof(programs) / sizeof(programs[0]),
			   "record the machine", why);
	if (err)
		return err;
	/* growth counts from here on */
	machine->next = 0;
	drained(source, clock_ns());
	return 0;
}

static void report_losses(struct source *source)
{
	const struct machine *machine = source->state;
	const struct loss_count losses[] = {
		{"machine: disks and interfaces not recorded: too many of them",
		 machine_series_refused(machine->series)},
		{"machine: requests to disks by too many threads", machine->disks.refused},
		{"machine: requests to disks whose thread is not known", machine->unknown},
		{"machine: readings of connections that failed", machine->failed},
		{"machine: round-trip times of too many connections", machine->tcp.left_out},
		{"machine: limits of control groups not read: too many of them",
		 machine->groups.refused},
	};

	loss_counts_emit_all(source->host->film, source->event, losses);
}

/* Of each process that is known the control group. */
static void add_group(void *context, const struct process *process)
{
	struct machine *machine = context;

	machine_groups_add(&machine->groups, process->cgroup);
}

/* Nothing is known of the time between two readings, which is taken to be as at the second one. */
static void put_limit(void *context, const char *path, uint64_t limit)
{
	struct source *source = context;
	const struct machine *machine = source->state;
	uint64_t now = source_now(source), last = machine->groups_read;
	const struct film_gauge row = {
		.end = now,
		.duration = last && last < now ? now - last : 0,
		.kind = FILM_GAUGE_GROUP_LIMIT,
		.value = limit,
		.object = source_mark(source, path),
	};

	write_row(source, &row);
}

static void read_groups(struct source *source, uint64_t now)
{
	struct machine *machine = source->state;
	uint64_t used = clock_thread_ns();

	if (!rate_of(source) || now < machine->groups_next)
		return;
	samples_each_process(source->host->samples, add_group, machine);
	machine_groups_read(&machine->groups, put_limit, source);
	used = clock_thread_ns() - used;
	machine->groups_read = now;
	machine->groups_next = now + clock_pause(used, GROUPS_SHARE, PAUSE_MAX, GROUPS_SHARE);
}

static void tick(struct source *source, uint64_t now)
{
	read_groups(source, now);
	report_losses(source);
}

/* All is reported up to now. */
static void closing(struct source *source)
{
	struct machine *machine = source->state;

	if (!machine || !machine->series)
		return;
	machine->next = machine->groups_next = 0;
	drained(source, source_now(source));
	read_groups(source, source_now(source));
	machine_series_flush(machine->series);
	report_losses(source);
}

static void turn(struct source *source)
{
	struct machine *machine = source->state;

	machine_series_turn(machine->series);
	map_free(&machine->rows);
	machine->has_notes = false;
}

static void detach(struct source *source)
{
	struct machine *machine = source->state;

	if (!machine)
		return;
	links_free(&machine->links);
}

/* Requests whose records came since the last reading, as the film ends. */
static void finish(struct source *source, uint64_t now)
{
	struct machine *machine = source->state;

	if (machine->last && machine->last < now)
		machine_disks_write(&machine->disks, machine->last, now, write_row, source);
	report_losses(source);
}

static void free_state(struct source *source)
{
	struct machine *machine = source->state;

	detach(source);
	if (machine) {
		machine_series_free(machine->series);
		machine_disks_free(&machine->disks);
		machine_tcp_free(&machine->tcp);
		machine_groups_free(&machine->groups);
		map_free(&machine->whole);
		map_free(&machine->rows);
		for (int file = 0; file < FILES; file++)
			buf_free(&machine->texts[file]);
	}
	free(machine);
}

static const struct source_record records[] = {
	SOURCE_RECORD(MACHINE_REQUEST, machine_request, handle_request),
	{0},
};

static const struct source_event events[] = {{EVENT_MACHINE, "proc"}, {0}};

static const struct source_option options[] = {
	{
		.name = "machine-rate",
		.argument = "HZ",
		.help = "of machine and threads: how often the state of CPUs, disks, network and "
			"memory is read (default 10; 0: never)",
		.least = 0,
		.most = RATE_MAX,
		.usual = RATE_USUAL,
	},
	{0},
};

const struct source_type source_machine = {
	.events = events,
	.has_event = has_event,
	.with = "threads",
	.options = options,
	.ring_bytes = ring_bytes,
	.prepare = prepare,
	.attach = attach,
	.start = start,
	.records = records,
	.drained = drained,
	.tick = tick,
	.closing = closing,
	.turn = turn,
	.detach = detach,
	.finish = finish,
	.free = free_state,
};
