// SPDX-License-Identifier: Apache-2.0
#include "server/workers.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread.h"

enum {
	PATIENT_NICE = 5, /* more than before; the kernel ends it at 19 */
};

struct workers {
	struct workers_options options;
	pthread_mutex_t lock;
	pthread_cond_t more;
	void **items; /* a ring */
	size_t first, waiting, reserved;
	bool ending;
	pthread_t *threads;
	size_t started;
};

/*
 * Where others want the CPU, they get about three times as much, and are not preempted. SCHED_IDLE,
 * or a larger number, would give less still: on a machine that is busy, which is when questions are
 * asked, there would be no answer, and who waits for a lock that such a thread holds would wait
 * with it. Where it fails, work goes on as it was.
 */
static void be_patient(void)
{
	const struct sched_param none = {0};

	sched_setscheduler(0, SCHED_BATCH, &none);
	setpriority(PRIO_PROCESS, (id_t)gettid(), getpriority(PRIO_PROCESS, 0) + PATIENT_NICE);
}

static void *run(void *context)
{
	struct workers *w = context;

	pthread_setname_np(pthread_self(), w->options.name);
	if (w->options.is_patient)
		be_patient();
	pthread_mutex_lock(&w->lock);
	while (!w->ending || w->waiting || w->reserved) {
		void *item;

		if (!w->waiting) {
			pthread_cond_wait(&w->more, &w->lock);
			continue;
		}
		item = w->items[w->first];
		w->first = (w->first + 1) % w->options.queue;
		w->waiting--;
		pthread_mutex_unlock(&w->lock);
		w->options.work(w->options.context, item);
		pthread_mutex_lock(&w->lock);
	}
	/* the last item was this one's, and the others wait */
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static int start_threads(struct workers *w)
{
	int err = 0;

	while (!err && w->started < w->options.count) {
		err = thread_spawn(&w->threads[w->started], run, w);
		w->started += !err;
	}
	return err;
}

int workers_start(const struct workers_options *options, struct workers **workers, struct fail *why)
{
	struct workers *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return fail_errno(why, -ENOMEM, NULL, "cannot start the server's workers");
	w->options = *options;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->items = calloc(options->queue, sizeof(*w->items));
	w->threads = calloc(options->count, sizeof(*w->threads));
	err = w->items && w->threads ? start_threads(w) : -ENOMEM;
	if (err) {
		workers_end(w);
		workers_free(w);
		return fail_errno(why, err, NULL, "cannot start the server's workers");
	}
	*workers = w;
	return 0;
}

bool workers_reserve(struct workers *w)
{
	bool has_place;

	pthread_mutex_lock(&w->lock);
	has_place = !w->ending && w->waiting + w->reserved < w->options.queue;
	w->reserved += has_place;
	pthread_mutex_unlock(&w->lock);
	return has_place;
}

void workers_put(struct workers *w, void *item)
{
	pthread_mutex_lock(&w->lock);
	w->items[(w->first + w->waiting++) % w->options.queue] = item;
	w->reserved--;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
}

void workers_end(struct workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (; w->started; w->started--)
		pthread_join(w->threads[w->started - 1], NULL);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w->threads);
	free(w->items);
	free(w);
}
