// SPDX-License-Identifier: Apache-2.0

/*
 * Not a test: makes a store of any size, and says how long answers take (bench/store).
 *
 *	measure_store make DIR HOSTS HOURS SERVICES STACKS SAMPLES	makes films and their index
 *	measure_store rows HOSTS HOURS SERVICES STACKS SAMPLES		the same samples as rows, to
 *									standard output
 *	measure_store names SERVICES STACKS				their stacks as rows
 *	measure_store pack DIR						what the store does when
 *									films are over
 *	measure_store ask DIR SERVICE|- TIMES				a flame graph over all of
 *									its time
 *
 * STACKS are those of each service. They share their outer frames and few of them are hot, as in
 * real programs: 8 to 60 frames deep, about five frames of each are its own. The same arguments
 * always make the same samples. Rows are in ClickHouse's RowBinary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/map.h"
#include "film/writing.h"
#include "store/ask.h"
#include "store/folder.h"
#include "query/identity.h"
#include "store/index.h"

enum {
	FUNCTIONS = 6000, /* of a service */
	DEPTH_MIN = 8,
	DEPTH_MAX = 60,
	SERVICES_MAX = 256
};

#define BEGIN  1767225600ull /* s since 1970: midnight */
#define PERIOD 10101010ull   /* ns, of 99 Hz */
#define JITTER 50000	     /* ns by which a sample comes late */
#define UPTIME 1000000ull    /* s: the monotonic clock at the beginning */

static uint64_t state = 1;

static uint64_t random_number(uint64_t below)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 33) % below;
}

static double clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double now_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

static void end_if(bool failed, const struct fail *why)
{
	if (!failed)
		return;
	fail_print(why);
	exit(1);
}

/*
 * The frames of a stack, outermost first. Those of all services have the same shape, and other
 * names.
 */
struct stacks {
	uint32_t count;
	uint16_t (*frames)[DEPTH_MAX];
	uint8_t *depth;
};

static struct stacks make_stacks(uint32_t count)
{
	struct stacks s = {count, calloc(count, sizeof(*s.frames)), calloc(count, 1)};

	end_if(!s.frames || !s.depth, &(struct fail){.what = "no memory"});
	state = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t like = i ? (uint32_t)random_number(i) : 0;
		uint8_t shared =
			i ? (uint8_t)(s.depth[like] - random_number(s.depth[like] / 3 + 1)) : 0;
		uint8_t own = (uint8_t)(1 + random_number(9));

		if (shared + own > DEPTH_MAX)
			shared = (uint8_t)(DEPTH_MAX - own);
		if (shared + own < DEPTH_MIN)
			own = (uint8_t)(DEPTH_MIN - shared);
		memcpy(s.frames[i], s.frames[like], shared * sizeof(**s.frames));
		for (uint8_t k = shared; k < shared + own; k++)
			s.frames[i][k] = (uint16_t)random_number(FUNCTIONS);
		s.depth[i] = (uint8_t)(shared + own);
	}
	return s;
}

static void function_name(uint32_t service, uint32_t function, char *to, size_t size)
{
	static const char *const words[] = {"open",   "read", "block", "table",	   "cache", "find",
					    "insert", "node", "list",  "iterator", "flush", "key"};

	snprintf(to, size, "svc%u::%s_%s<%s>::%s(unsigned long, Slice const&)", service,
		 words[function % 12], words[function / 12 % 12], words[function / 144 % 12],
		 words[function / 1728 % 12]);
}

/* What happens in one hour of one host, sample by sample. */
struct hour {
	uint32_t host, hour, services;
	uint64_t samples, next;
	const struct stacks *stacks;
};

struct sample {
	uint64_t ns; /* of the hour */
	uint32_t service, stack;
};

static bool next_sample(struct hour *h, struct sample *sample)
{
	uint64_t step = 3600000000000ull / h->samples, range;

	if (h->next == h->samples)
		return false;
	if (!h->next)
		state = hash_u64((uint64_t)h->host << 32 | h->hour);
	sample->ns = h->next++ * step + random_number(step < JITTER ? step : JITTER);
	sample->service = (uint32_t)random_number(h->services);
	/* of all stacks, mostly those with small numbers */
	range = 1 + random_number(h->stacks->count);
	sample->stack = (uint32_t)random_number(1 + random_number(range));
	return true;
}

/* One film. */
struct making {
	struct film_writer *w;
	uint32_t threads[SERVICES_MAX], images[SERVICES_MAX], event;
	uint32_t *stack_of; /* by service and stack; 0: not yet */
	uint32_t frame_of[SERVICES_MAX][FUNCTIONS];
};

static uint32_t frame_of(struct making *m, uint32_t service, uint32_t function)
{
	char name[128];
	struct film_name call = {name, "", 0};
	uint32_t *frame = &m->frame_of[service][function];

	if (*frame)
		return *frame;
	*frame = film_frame(m->w, m->images[service], FILM_FRAME_NATIVE,
			    0x400000ull + function * 310ull);
	function_name(service, function, name, sizeof(name));
	film_name_frame(m->w, *frame, &call, 1);
	return *frame;
}

static uint32_t stack_of(struct making *m, const struct stacks *s, uint32_t service, uint32_t stack)
{
	uint32_t *known = &m->stack_of[(size_t)service * s->count + stack];

	if (*known)
		return *known;
	for (uint8_t k = 0; k < s->depth[stack]; k++)
		*known = film_stack(m->w, *known, frame_of(m, service, s->frames[stack][k]),
				    FILM_HOW_EXACT);
	return *known;
}

static void begin_film(struct making *m, const struct hour *h, const char *path)
{
	uint64_t start = (UPTIME + h->hour * 3600ull) * 1000000000ull;
	char host[32];
	struct film_info info = {
		.version = "0.1.0",
		.hostname = host,
		.kernel = "6.1.0",
		.arch = "x86_64",
		.command = "stackcam serve",
		.labels = "",
		.cpus = 2,
		.start = start,
		.end = start,
		.wall_offset = (int64_t)((BEGIN - UPTIME) * 1000000000ull),
	};
	struct fail why = {0};

	snprintf(host, sizeof(host), "host-%03u", h->host);
	end_if(film_create(path, &info, &m->w, &why), &why);
	/* as of films that are over, and were packed by the store */
	m->w->block_span = 60000000000ull;
	m->event = film_add_event(m->w, &(struct film_event){"on-cpu", "ns", "cpu-clock", 99});
	for (uint32_t i = 0; i < h->services; i++) {
		char exe[64], comm[16];
		struct film_image image = {.kind = FILM_IMAGE_FILE,
					   .path = exe,
					   .build_id = {(uint8_t)i, 1, 2, 3, 4, 5, 6, 7},
					   .build_id_size = 20};
		struct film_process process = {.pid = 1000 + i,
					       .parent = 1,
					       .start = start,
					       .comm = comm,
					       .command = exe,
					       .exe = exe,
					       .cgroup = "/",
					       .container = ""};

		snprintf(exe, sizeof(exe), "/usr/bin/svc-%u", i);
		snprintf(comm, sizeof(comm), "svc-%u", i);
		m->images[i] = film_add_image(m->w, &image);
		m->threads[i] = film_add_thread(
			m->w, &(struct film_thread){film_add_process(m->w, &process), 1000 + i,
						    start, comm});
	}
}

static void make_film(struct hour *h, const char *path)
{
	static struct making m;
	uint64_t start = (UPTIME + h->hour * 3600ull) * 1000000000ull;
	struct sample sample;
	struct fail why = {0};

	m = (struct making){0};
	m.stack_of = calloc((size_t)h->services * h->stacks->count, sizeof(*m.stack_of));
	end_if(!m.stack_of, &(struct fail){.what = "no memory"});
	begin_film(&m, h, path);
	while (next_sample(h, &sample)) {
		film_sample(m.w, m.event, start + sample.ns, m.threads[sample.service],
			    stack_of(&m, h->stacks, sample.service, sample.stack), PERIOD);
		if (h->next % 200000 == 0)
			end_if(film_commit(m.w, start + sample.ns, false, &why), &why);
	}
	end_if(film_close(m.w, start + 3600000000000ull - 1, &why), &why);
	free(m.stack_of);
}

static void make(const char *folder, struct hour *h, uint32_t hosts, uint32_t hours,
		 uint64_t samples)
{
	struct index_options options = {.folder = folder};
	char path[4096], host[32], name[FOLDER_NAME_MAX];
	struct index *index;
	struct fail why = {0};
	double films = 0, indexed = 0, packed = 0;

	mkdir(folder, 0777);
	snprintf(path, sizeof(path), "%s/index.db", folder);
	options.path = path;
	end_if(index_open(&options, &index, &why), &why);
	for (uint32_t hour = 0; hour < hours; hour++) {
		double begin = now_ms();

		for (uint32_t i = 0; i < hosts; i++) {
			struct index_film of = {.name = name, .host = host};
			struct film *film;
			double then = now_ms();
			char file[8192];

			h->host = i;
			h->hour = hour;
			h->next = 0;
			h->samples = samples / hosts / hours;
			snprintf(host, sizeof(host), "host-%03u", i);
			folder_film_name(name, sizeof(name), host,
					 (BEGIN + hour * 3600ull) * 1000000000ull, 1);
			end_if(folder_make(folder, name), &(struct fail){.what = "no folder"});
			snprintf(file, sizeof(file), "%s/%s", folder, name);
			make_film(h, file);
			films += now_ms() - then;
			then = now_ms();
			end_if(film_open(file, &film, &why), &why);
			end_if(index_add(index, &of, film, &why), &why);
			film_free(film);
			indexed += now_ms() - then;
		}
		fprintf(stderr, "hour %u of %u: %.1f s\n", hour + 1, hours,
			(now_ms() - begin) / 1e3);
		begin = now_ms();
		end_if(index_compact(index, (BEGIN + (hour + 2) * 3600ull) * 1000000000ull, &why),
		       &why);
		packed += now_ms() - begin;
	}
	index_free(index);
	printf("{\"films_ms\": %.0f, \"index_ms\": %.0f, \"pack_ms\": %.0f}\n", films, indexed,
	       packed);
}

static void put_number(uint64_t number, int bytes)
{
	for (int i = 0; i < bytes; i++)
		putchar_unlocked((int)(number >> (8 * i) & 0xff));
}

static void put_text(const char *text)
{
	size_t length = strlen(text);

	/* a varint; none is longer than 127 */
	putchar_unlocked((int)length);
	fwrite_unlocked(text, 1, length, stdout);
}

static void rows(struct hour *h, uint32_t hosts, uint32_t hours, uint64_t samples)
{
	struct sample sample;
	char text[32];

	for (uint32_t hour = 0; hour < hours; hour++) {
		for (uint32_t i = 0; i < hosts; i++) {
			h->host = i;
			h->hour = hour;
			h->next = 0;
			h->samples = samples / hosts / hours;
			while (next_sample(h, &sample)) {
				put_number(BEGIN + hour * 3600ull + sample.ns / 1000000000ull, 4);
				snprintf(text, sizeof(text), "svc-%u", sample.service);
				put_text(text);
				snprintf(text, sizeof(text), "host-%03u", i);
				put_text(text);
				put_number(hash_u64((uint64_t)sample.service << 32 | sample.stack),
					   8);
				put_number(PERIOD, 8);
			}
		}
	}
}

static void names(const struct stacks *s, uint32_t services)
{
	for (uint32_t service = 0; service < services; service++) {
		for (uint32_t i = 0; i < s->count; i++) {
			char text[32];

			snprintf(text, sizeof(text), "svc-%u", service);
			put_text(text);
			put_number(hash_u64((uint64_t)service << 32 | i), 8);
			putchar_unlocked(s->depth[i]);
			for (uint8_t k = 0; k < s->depth[i]; k++) {
				char name[128];

				function_name(service, s->frames[i][k], name, sizeof(name));
				put_text(name);
			}
		}
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void ask(const char *folder, const char *service, int times)
{
	struct store_ask ask = {.event = "on-cpu"};
	struct store_options options = {.path = folder};
	struct store_answer answer;
	double begin = now_ms(), open, cold, warm[1000], cpu;
	struct identity *identity;
	struct store *store;
	struct fail why = {0};

	if (strcmp(service, "-") != 0)
		ask.service = service;
	end_if(identity_new(&identity, &why), &why);
	options.identity = identity;
	end_if(store_open(&options, &store, &why), &why);
	open = now_ms() - begin;
	begin = now_ms();
	end_if(store_flame(store, &ask, &answer, &why), &why);
	cold = now_ms() - begin;
	cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < times; i++) {
		store_answer_free(&answer);
		begin = now_ms();
		end_if(store_flame(store, &ask, &answer, &why), &why);
		warm[i] = now_ms() - begin;
	}
	cpu = (clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu) / times;
	qsort(warm, (size_t)times, sizeof(*warm), by_value);
	printf("{\"open_ms\": %.2f, \"cold_ms\": %.2f, \"warm_ms\": %.2f, \"least_ms\": %.2f, "
	       "\"cpu_ms\": %.2f, "
	       "\"samples\": %" PRIu64 ", \"total\": %" PRIu64
	       ", \"nodes\": %u, \"functions\": %zu}\n",
	       open, cold, warm[times / 2], warm[0], cpu, answer.sum.samples, answer.sum.total,
	       answer.flame.count, answer.functions.count);
	store_answer_free(&answer);
	store_free(store);
	identity_free(identity);
}

/*
 * Opens the store as serve does, and lets it do what there is to be done, until nothing gets
 * smaller any more.
 */
static void pack(const char *folder)
{
	struct store_options options = {.path = folder};
	struct store_status status, before = {0};
	struct identity *identity;
	struct store *store;
	struct fail why = {0};

	end_if(identity_new(&identity, &why), &why);
	options.identity = identity;
	end_if(store_open(&options, &store, &why), &why);
	store_status(store, &status);
	do {
		before = status;
		end_if(store_tick(store, (BEGIN + 100 * 86400ull) * 1000000000ull, &why), &why);
		store_status(store, &status);
	} while (status.bytes != before.bytes || status.films != before.films);
	printf("{\"films\": %" PRIu64 ", \"bytes\": %" PRIu64 "}\n", status.films, status.bytes);
	store_free(store);
	identity_free(identity);
}

static uint32_t number_of(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
	struct hour h = {0};
	struct stacks s;

	if (argc == 5 && !strcmp(argv[1], "ask")) {
		uint32_t times = number_of(argv[4]);

		ask(argv[2], argv[3], times < 1 ? 1 : times > 1000 ? 1000 : (int)times);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "pack")) {
		pack(argv[2]);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "names")) {
		s = make_stacks(number_of(argv[3]));
		names(&s, number_of(argv[2]));
	} else if (argc == 8 && !strcmp(argv[1], "make")) {
		s = make_stacks(number_of(argv[6]));
		h.services = number_of(argv[5]);
		h.stacks = &s;
		make(argv[2], &h, number_of(argv[3]), number_of(argv[4]),
		     strtoull(argv[7], NULL, 10));
	} else if (argc == 7 && !strcmp(argv[1], "rows")) {
		s = make_stacks(number_of(argv[5]));
		h.services = number_of(argv[4]);
		h.stacks = &s;
		rows(&h, number_of(argv[2]), number_of(argv[3]), strtoull(argv[6], NULL, 10));
	} else {
		fprintf(stderr, "usage: see the comment at the beginning of measure_store.c\n");
		return 2;
	}
	free(s.frames);
	free(s.depth);
	return fflush(stdout) ? 1 : 0;
}
