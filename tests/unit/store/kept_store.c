// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include "kept_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mount.h>

#include "film/reader.h"
#include "film/writer.h"
#include "store/ask.h"
#include "store/folder.h"

char root[64], store_path[96];
const char *spool;

int kept_set_up(void **state)
{
	(void)state;
	/* in memory, where there is such a file system: all is synced, and often */
	strcpy(root,
	       access("/dev/shm", W_OK) ? "/tmp/store-test-XXXXXX" : "/dev/shm/store-test-XXXXXX");
	if (!mkdtemp(root))
		return -1;
	snprintf(store_path, sizeof(store_path), "%s/store", root);
	spool = root;
	return 0;
}

int kept_tear_down(void **state)
{
	char command[96];

	(void)state;
	umount2(store_path, MNT_DETACH);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

struct store *open_store(uint64_t bytes_max, uint64_t age_max)
{
	struct store_options options = {store_path, bytes_max, age_max, NULL};
	struct store *store = NULL;
	struct fail why = {0};

	if (store_open(&options, &store, &why))
		fail_print(&why);
	assert_non_null(store);
	return store;
}

void tick(struct store *store, uint64_t seconds)
{
	struct fail why = {0};

	if (store_tick(store, seconds * SECOND, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
}

void make_film(const char *path, uint64_t begin, const char *labels)
{
	make_film_of(path, begin, labels, 0);
}

void make_film_of(const char *path, uint64_t begin, const char *labels, uint32_t stacks)
{
	struct film_info info = {
		.version = "1",
		.hostname = "web7",
		.kernel = "6.1",
		.arch = "x86_64",
		.command = "stackcam agent",
		.cpus = 2,
		.start = begin * SECOND - (BEGIN - 100000) * SECOND,
		.wall_offset = (int64_t)((BEGIN - 100000) * SECOND),
		.labels = labels,
	};
	struct film_event event = {"on-cpu", "ns", "cpu-clock", 99};
	struct film_process process = {.pid = 7, .start = 5, .comm = "app", .exe = "/usr/bin/app"};
	struct film_thread thread = {.process = 1, .tid = 7, .start = 5, .comm = "app"};
	struct film_image image = {FILM_IMAGE_FILE, "/usr/bin/app", {1, 2}, 2};
	struct film_name name = {"work", "", 0};
	struct film_writer *w = NULL;
	uint32_t frame;

	assert_int_equal(film_create(path, &info, &w, NULL), 0);
	film_add_event(w, &event);
	film_add_process(w, &process);
	film_add_thread(w, &thread);
	film_add_image(w, &image);
	for (unsigned int i = 0; i < SAMPLES; i++) {
		frame = film_frame(w, 1, FILM_FRAME_NATIVE, 0x1000 + i % 9);
		film_name_frame(w, frame, &name, 1);
		film_sample(w, 1, info.start + i * SECOND / 5, 1,
			    film_stack(w, 0, frame, FILM_HOW_EXACT), 10);
	}
	/* two below each, of the first ones on */
	for (uint32_t i = 0; i < stacks; i++)
		film_stack(w, 1 + i / 2, 1 + i % 2, FILM_HOW_EXACT);
	assert_int_equal(film_close(w, info.start + 10 * SECOND, NULL), 0);
}

int send_film(struct store *store, const char *host, const char *agent, uint64_t number,
	      uint64_t begin, bool *again)
{
	struct store_sender sender = {host, agent, number};
	struct fail why = {0};
	char path[128];
	int err;

	snprintf(path, sizeof(path), "%s/sent.film", spool);
	make_film(path, begin, NULL);
	err = store_add_film(store, path, &sender, again, &why);
	assert_int_equal(why.err, err);
	/* it went in, or it is of no use */
	if (!err)
		assert_int_equal(access(path, F_OK), -1);
	unlink(path);
	return err;
}

void send_some(struct store *store, const char *agent, unsigned int count, uint64_t begin)
{
	bool again;

	for (unsigned int i = 0; i < count; i++) {
		assert_int_equal(send_film(store, "web7", agent, i + 1, begin + 10 * i, &again), 0);
		assert_false(again);
	}
}

static int add_film(void *context, const char *name, uint64_t bytes, unsigned int mode)
{
	struct on_disk *all = context;
	struct film *film = NULL;
	uint64_t samples, total;
	struct fail why = {0};
	char path[256];

	assert_true(bytes > 0);
	snprintf(path, sizeof(path), "%s/%s", store_path, name);
	if (film_open(path, &film, &why))
		fail_print(&why);
	assert_non_null(film);
	film_event_total(film, 1, &samples, &total);
	film_free(film);
	all->samples += samples;
	all->films++;
	all->parts += !strncmp(name, "inbox/", 6);
	all->packed += mode == 0400;
	return 0;
}

struct on_disk look(void)
{
	struct on_disk all = {0};

	assert_int_equal(folder_each_film(store_path, add_film, &all), 0);
	return all;
}

uint64_t indexed(struct store *store)
{
	struct store_ask ask = {0};
	struct store_answer answer = {0};
	struct fail why = {0};
	uint64_t samples;

	if (store_flame(store, &ask, &answer, &why))
		fail_print(&why);
	assert_int_equal(why.err, 0);
	samples = answer.sum.samples;
	store_answer_free(&answer);
	return samples;
}
