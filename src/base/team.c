// SPDX-License-Identifier: Apache-2.0
#include "base/team.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/thread.h"

struct member {
	struct team *team;
	pthread_t thread;
	unsigned int number;
};

struct team {
	pthread_mutex_t lock; /* of all that follows but parts, members and started */
	pthread_cond_t begun, done;
	void (*part)(void *context, unsigned int number);
	void *context;
	uint64_t job;	   /* how many have begun */
	unsigned int busy; /* threads that have not done their part yet */
	bool over;
	unsigned int parts, started;
	struct member members[];
};

/* The next job after the last one that a member has done; false: there is none any more. */
static bool await_job(struct team *team, uint64_t *last)
{
	bool go_on;

	pthread_mutex_lock(&team->lock);
	while (!team->over && team->job == *last)
		pthread_cond_wait(&team->begun, &team->lock);
	*last = team->job;
	go_on = !team->over;
	pthread_mutex_unlock(&team->lock);
	return go_on;
}

static void *run(void *context)
{
	struct member *member = context;
	struct team *team = member->team;
	uint64_t last = 0;

	while (await_job(team, &last)) {
		team->part(team->context, member->number);
		pthread_mutex_lock(&team->lock);
		if (!--team->busy)
			pthread_cond_signal(&team->done);
		pthread_mutex_unlock(&team->lock);
	}
	return NULL;
}

/* What has no thread is done by the caller. */
static void start_members(struct team *team)
{
	while (team->started + 1 < team->parts) {
		struct member *member = &team->members[team->started];

		member->team = team;
		member->number = team->started + 1;
		if (thread_spawn(&member->thread, run, member))
			return;
		team->started++;
	}
}

struct team *team_new(unsigned int parts)
{
	struct team *team = calloc(1, sizeof(*team) + parts * sizeof(*team->members));

	if (!team)
		return NULL;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->begun, NULL);
	pthread_cond_init(&team->done, NULL);
	team->parts = parts;
	start_members(team);
	return team;
}

void team_do(struct team *team, void (*part)(void *context, unsigned int number), void *context)
{
	pthread_mutex_lock(&team->lock);
	team->part = part;
	team->context = context;
	team->busy = team->started;
	team->job++;
	pthread_cond_broadcast(&team->begun);
	pthread_mutex_unlock(&team->lock);
	part(context, 0);
	for (unsigned int number = team->started + 1; number < team->parts; number++)
		part(context, number);
	pthread_mutex_lock(&team->lock);
	while (team->busy)
		pthread_cond_wait(&team->done, &team->lock);
	pthread_mutex_unlock(&team->lock);
}

void team_free(struct team *team)
{
	if (!team)
		return;
	pthread_mutex_lock(&team->lock);
	team->over = true;
	pthread_cond_broadcast(&team->begun);
	pthread_mutex_unlock(&team->lock);
	for (unsigned int i = 0; i < team->started; i++)
		pthread_join(team->members[i].thread, NULL);
	pthread_mutex_destroy(&team->lock);
	pthread_cond_destroy(&team->begun);
	pthread_cond_destroy(&team->done);
	free(team);
}

unsigned int team_size(unsigned int most)
{
	unsigned int cpus = most;
	cpu_set_t set;

	/* fails where there are more CPUs than a set has room for */
	if (!sched_getaffinity(0, sizeof(set), &set))
		cpus = (unsigned int)CPU_COUNT(&set);
	return cpus < most ? cpus : most;
}
