// SPDX-License-Identifier: Apache-2.0
#include "record/sources.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/rings.h"
#include "base/text.h"
#include "bpf/probes.skel.h"

#define X(NAME, name) extern const struct source_type source_##name;
CAPTURE_SOURCES(X)
#undef X

/* The least and the most bytes of a ring. */
#define RING_BYTES_LEAST (128u << 10)
#define RING_BYTES_MOST	 (64u << 20)

struct row {
	const char *name; /* its programs and maps begin with it */
	const struct source_type *type;
};

static const struct row rows[CAPTURE_SOURCE_COUNT] = {
#define X(NAME, name) [CAPTURE_SOURCE_##NAME] = {#name, &source_##name},
	CAPTURE_SOURCES(X)
#undef X
};

/* All of them, on or not. */
#define rows_foreach(number)                                                                      \
	for (enum capture_source number = CAPTURE_SOURCE_NONE + 1; number < CAPTURE_SOURCE_COUNT; \
	     number++)

/* Whether a program or map belongs to the source of that name. */
static bool is_of(const char *source, const char *name)
{
	return !strncmp(name, source, strlen(source));
}

const char *sources_name(enum capture_source number)
{
	return number == CAPTURE_SOURCE_NONE ? "all" : rows[number].name;
}

struct sources_settings sources_settings_usual(void)
{
	struct sources_settings settings = {0};

	rows_foreach (number) {
		const struct source_option *option = rows[number].type->options;

		for (size_t i = 0; option && option[i].name; i++)
			settings.at[number].values[i] = option[i].usual;
	}
	return settings;
}

/* What belongs to an event of another source is on with it. */
static void turn_on_with(struct sources_settings *settings, const char *event)
{
	rows_foreach (number)
		if (rows[number].type->with && !strcmp(rows[number].type->with, event))
			settings->at[number].on = true;
}

/* Null: it has no more events. */
static const char *event_name(const struct source_type *type, unsigned int event)
{
	return type->events && type->events[event].how ? event_type(type->events[event].id)->name
						       : NULL;
}

bool sources_turn_on(struct sources_settings *settings, const char *event)
{
	turn_on_with(settings, event);
	rows_foreach (number)
		for (unsigned int i = 0; event_name(rows[number].type, i); i++) {
			if (strcmp(event_name(rows[number].type, i), event))
				continue;
			settings->at[number].events |= 1u << i;
			return settings->at[number].on = true;
		}
	return false;
}

void sources_turn_on_list(struct sources_settings *settings, const struct event_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		sources_turn_on(settings, list->at[i]->name);
}

/* The option of that name, and where its value is. Null: there is none. */
static const struct source_option *find_option(const char *name, enum capture_source *source,
					       size_t *at)
{
	rows_foreach (number) {
		const struct source_option *option = rows[number].type->options;

		for (size_t i = 0; option && option[i].name; i++) {
			if (strcmp(option[i].name, name))
				continue;
			*source = number;
			*at = i;
			return &option[i];
		}
	}
	return NULL;
}

static int refuse_value(const struct source_option *option, const char *text, struct fail *why)
{
	char called[64];

	if (option->letter)
		snprintf(called, sizeof(called), "-%c", option->letter);
	else
		snprintf(called, sizeof(called), "--%s", option->name);
	if (option->is_time)
		return fail(why, -EINVAL, NULL, "%s takes a time such as 50us or 2ms, not '%s'",
			    called, text);
	return fail(why, -EINVAL, NULL, "%s takes a number from %llu to %llu, not '%s'", called,
		    (unsigned long long)option->least, (unsigned long long)option->most, text);
}

int sources_set(struct sources_settings *settings, const char *name, const char *text,
		struct fail *why)
{
	enum capture_source source;
	size_t at;
	const struct source_option *option = find_option(name, &source, &at);
	uint64_t value;
	int err;

	if (!option)
		return fail(why, -ENOENT, NULL, "no source of events has an option --%s", name);
	if (!option->argument) {
		sources_set_value(settings, name, 1);
		return 0;
	}
	if (option->is_time)
		err = text_parse_time(text, 1000000000, &value);
	else
		err = text_parse_u64(text, option->least, option->most, &value);
	if (err || value < option->least || value > option->most)
		return refuse_value(option, text, why);
	sources_set_value(settings, name, value);
	return 0;
}

/* Several sources may have the same option. */
void sources_set_value(struct sources_settings *settings, const char *name, uint64_t value)
{
	rows_foreach (number) {
		const struct source_option *option = rows[number].type->options;

		for (size_t i = 0; option && option[i].name; i++)
			if (!strcmp(option[i].name, name))
				settings->at[number].values[i] = value;
	}
}

uint64_t sources_value(const struct sources_settings *settings, const char *name)
{
	enum capture_source source;
	size_t at;

	return find_option(name, &source, &at) ? settings->at[source].values[at] : 0;
}

void sources_each_option(void (*each)(void *context, const struct source_option *option),
			 void *context)
{
	rows_foreach (number) {
		const struct source_option *option = rows[number].type->options;

		for (size_t i = 0; option && option[i].name; i++) {
			enum capture_source first;
			size_t at;

			/* an option of several sources is one */
			if (find_option(option[i].name, &first, &at) == &option[i])
				each(context, &option[i]);
		}
	}
}

int sources_command(struct sources_settings *settings, struct command_environment *environment,
		    struct fail *why)
{
	int err = 0;

	*environment = (struct command_environment){0};
	rows_foreach (number) {
		struct source_settings *own = &settings->at[number];

		if (!err && own->on && rows[number].type->command)
			err = rows[number].type->command(own, environment, why);
	}
	return err;
}

static int make_one(struct sources *sources, enum capture_source number, struct fail *why)
{
	struct source *source = &sources->at[number];

	if (!sources->settings.at[number].on)
		return 0;
	*source = (struct source){
		.type = rows[number].type,
		.host = &sources->host,
		.settings = &sources->settings.at[number],
	};
	return source->type->make ? source->type->make(source, why) : 0;
}

int sources_make(struct sources *sources, const struct source_host *host,
		 const struct sources_settings *settings, struct fail *why)
{
	int err = 0;

	sources->host = *host;
	sources->settings = *settings;
	rows_foreach (number)
		if (!err)
			err = make_one(sources, number, why);
	return err;
}

static void free_one(struct source *source)
{
	if (source->type->free)
		source->type->free(source);
	*source = (struct source){0};
}

void sources_make_possible(struct sources *sources, const struct source_host *host)
{
	sources->host = *host;
	sources->settings = sources_settings_usual();
	rows_foreach (number) {
		struct fail ignored;

		sources->settings.at[number].on = true;
		if (make_one(sources, number, &ignored))
			free_one(&sources->at[number]);
	}
}

/* The source that is on and has a program or map of that name. */
static enum capture_source owner_number(const struct sources *sources, const char *name)
{
	rows_foreach (number)
		if (sources->at[number].type && is_of(rows[number].name, name))
			return number;
	return CAPTURE_SOURCE_NONE;
}

/* Fills what the kernel says of a program; false: it is not loaded. */
static bool is_loaded(const struct bpf_program *program, struct bpf_prog_info *info)
{
	int fd = bpf_program__fd(program);
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, info, &size);
}

uint64_t sources_skipped(const struct sources *sources, enum capture_source number)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	if (!sources->host.probes)
		return 0;
	bpf_object__for_each_program (program, sources->host.probes->obj) {
		struct bpf_prog_info info;

		if (owner_number(sources, bpf_program__name(program)) == number &&
		    is_loaded(program, &info))
			sum += info.recursion_misses;
	}
	return sum;
}

uint64_t sources_run_ns(const struct sources *sources)
{
	struct bpf_program *program;
	uint64_t sum = 0;

	if (!sources->host.probes)
		return 0;
	bpf_object__for_each_program (program, sources->host.probes->obj) {
		struct bpf_prog_info info;

		if (is_loaded(program, &info))
			sum += info.run_time_ns;
	}
	return sum;
}

unsigned int sources_needs(const struct sources *sources)
{
	unsigned int needs = 0;

	rows_foreach (number) {
		const struct source *source = &sources->at[number];

		if (source->type && source->type->needs)
			needs |= source->type->needs(source);
	}
	return needs;
}

bool sources_libraries(const struct sources *sources, const char **names, size_t max, size_t *count)
{
	*count = 0;
	rows_foreach (number) {
		const struct source *source = &sources->at[number];
		const char *const *name = source->type ? source->type->images.libraries : NULL;

		if (!source->type || !source->type->needs ||
		    !(source->type->needs(source) & SOURCE_IMAGES))
			continue;
		if (!name)
			return false;
		for (; *name; name++) {
			if (*count == max)
				return false;
			names[(*count)++] = *name;
		}
	}
	return true;
}

unsigned int sources_rate(const struct sources *sources)
{
	unsigned int rate = 0;

	rows_foreach (number) {
		const struct source *source = &sources->at[number];

		if (source->type && source->type->rate)
			rate += source->type->rate(source);
	}
	return rate;
}

static uint32_t ring_bytes(const struct source *source, unsigned int cpus)
{
	return source->type->ring_bytes ? source->type->ring_bytes(source, cpus)
					: rings_bytes_for_samples(source->type->rate(source), cpus);
}

/* What they want of a ring. *count: how many they are. */
static uint64_t wanted_bytes(const struct sources *sources, unsigned int cpus, unsigned int *count)
{
	uint64_t sum = 0;

	*count = 0;
	rows_foreach (number) {
		const struct source *source = &sources->at[number];

		if (!source->type)
			continue;
		sum += ring_bytes(source, cpus);
		++*count;
	}
	return sum;
}

uint32_t sources_ring_bytes(const struct sources *sources, unsigned int cpus)
{
	unsigned int count;
	uint64_t wanted = wanted_bytes(sources, cpus, &count);
	uint32_t most = sources->host.ring_limit ? sources->host.ring_limit : RING_BYTES_MOST;
	uint32_t bytes = RING_BYTES_LEAST;

	/* a power of two */
	while (bytes < wanted && bytes <= most / 2)
		bytes *= 2;
	return bytes;
}

bool sources_ring_shares(const struct sources *sources, unsigned int cpus,
			 uint32_t shares[CAPTURE_SOURCE_COUNT])
{
	unsigned int count;
	uint64_t wanted = wanted_bytes(sources, cpus, &count);
	uint64_t ring = sources_ring_bytes(sources, cpus);

	memset(shares, 0, CAPTURE_SOURCE_COUNT * sizeof(*shares));
	if (count < 2)
		return false;
	/* what belongs to none of them is little, and has room, too */
	ring -= ring / 64;
	rows_foreach (number) {
		const struct source *source = &sources->at[number];

		if (source->type)
			shares[number] = (uint32_t)(ring * ring_bytes(source, cpus) / wanted);
	}
	return true;
}

/* None of the programs and maps of a source that is not asked for is loaded. */
static void leave_out(struct probes *probes, const char *name)
{
	struct bpf_program *program;
	struct bpf_map *map;

	bpf_object__for_each_program (program, probes->obj)
		if (is_of(name, bpf_program__name(program)))
			bpf_program__set_autoload(program, false);
	bpf_object__for_each_map (map, probes->obj)
		if (is_of(name, bpf_map__name(map)))
			bpf_map__set_autocreate(map, false);
}

void sources_prepare(struct sources *sources, unsigned int cpus)
{
	struct probes *probes = sources->host.probes;
	uint32_t shares[CAPTURE_SOURCE_COUNT];

	probes->rodata->capture_shared = sources_ring_shares(sources, cpus, shares);
	for (size_t i = 0; i < CAPTURE_SOURCE_COUNT; i++)
		probes->rodata->capture_shares[i] = shares[i];
	rows_foreach (number) {
		struct source *source = &sources->at[number];

		if (!source->type)
			leave_out(probes, rows[number].name);
		else if (source->type->prepare)
			source->type->prepare(source);
	}
}

struct source *sources_owner(struct sources *sources, const char *name)
{
	enum capture_source number = owner_number(sources, name);

	return number == CAPTURE_SOURCE_NONE ? NULL : &sources->at[number];
}

static const char *row_name(const struct source_type *type)
{
	rows_foreach (number)
		if (rows[number].type == type)
			return rows[number].name;
	return "";
}

void source_event_names(const struct source *source, char *to, size_t size)
{
	size_t length = 0;

	snprintf(to, size, "%s", source->type->events ? "" : row_name(source->type));
	for (unsigned int i = 0; event_name(source->type, i) && length < size; i++)
		if (source_wants(source, i))
			length += (size_t)snprintf(to + length, size - length, "%s%s",
						   length ? ", " : "", event_name(source->type, i));
}

bool sources_leave_out(struct sources *sources, struct source *refused)
{
	bool is_only = true;

	sources_foreach (sources, source)
		is_only &= source == refused || source->type->with;
	if (is_only)
		return false;
	free_one(refused);
	return true;
}

int sources_attach(struct sources *sources, struct fail *why)
{
	int err = 0;

	sources_foreach (sources, source)
		if (!err && source->type->attach)
			err = source->type->attach(source, why);
	return err;
}

int sources_start(struct sources *sources, struct fail *why)
{
	int err = 0;

	sources_foreach (sources, source) {
		if (err)
			break;
		source_add_events(source);
		if (source->type->start)
			err = source->type->start(source, why);
	}
	return err;
}

void sources_handle(struct sources *sources, const struct capture_head *head,
		    const struct capture_handover *handover)
{
	uint32_t number = CAPTURE_KIND_SOURCE(head->kind);
	struct source *source = number < CAPTURE_SOURCE_COUNT ? &sources->at[number] : NULL;

	if (source && source->type)
		source_handle(source, head, handover);
}

void sources_drained(struct sources *sources, uint64_t now)
{
	sources_foreach (sources, source)
		if (source->type->drained)
			source->type->drained(source, now);
}

void sources_tick(struct sources *sources, uint64_t now)
{
	sources_foreach (sources, source)
		if (source->type->tick)
			source->type->tick(source, now);
}

void sources_closing(struct sources *sources)
{
	sources_foreach (sources, source)
		if (source->type->closing)
			source->type->closing(source);
}

void sources_leave(struct sources *sources, uint64_t now)
{
	sources_foreach (sources, source)
		if (source->type->leave)
			source->type->leave(source, now);
}

void sources_turn(struct sources *sources, struct film_writer *film)
{
	sources->host.film = film;
	sources_foreach (sources, source) {
		source_add_events(source);
		if (source->type->turn)
			source->type->turn(source);
	}
}

void sources_detach(struct sources *sources)
{
	/* last in, first out: what builds on the probes of another source has gone before that */
	for (size_t i = CAPTURE_SOURCE_COUNT; i--;)
		if (sources->at[i].type && sources->at[i].type->detach)
			sources->at[i].type->detach(&sources->at[i]);
}

void sources_finish(struct sources *sources, uint64_t now)
{
	sources_foreach (sources, source)
		if (source->type->finish)
			source->type->finish(source, now);
}

void sources_free(struct sources *sources)
{
	sources_foreach (sources, source)
		free_one(source);
}

void sources_program(struct sources *sources, pid_t pid, const char *path)
{
	sources_foreach (sources, source)
		if (source->type->processes.program)
			source->type->processes.program(source, pid, path);
}

void sources_executed(struct sources *sources, pid_t pid)
{
	sources_foreach (sources, source)
		if (source->type->processes.executed)
			source->type->processes.executed(source, pid);
}

void sources_image_early(struct sources *sources, pid_t pid, const struct image *image)
{
	sources_foreach (sources, source)
		if (source->type->images.arrived &&
		    source->type->images.arrived(source, pid, image) & SOURCE_IMAGE_PROBED &&
		    source->type->images.missed)
			source->type->images.missed(source, image->path, 0);
}

void sources_process_gone(struct sources *sources, pid_t pid)
{
	sources_foreach (sources, source)
		if (source->type->processes.gone)
			source->type->processes.gone(source, pid);
}

void sources_process_ended(struct sources *sources, pid_t pid)
{
	sources_foreach (sources, source)
		if (source->type->processes.ended)
			source->type->processes.ended(source, pid);
}

uint32_t sources_event(const struct sources *sources)
{
	rows_foreach (number)
		if (sources->at[number].event)
			return sources->at[number].event;
	return 0;
}
