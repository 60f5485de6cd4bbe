// SPDX-License-Identifier: Apache-2.0
/*
 * Films that others send: each is checked, kept once, and safe on disk before its sender hears of
 * it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "film/labels.h"
#include "film/reader.h"
#include "store/keep.h"
#include "store/room.h"

/* A clock of a sender may be wrong, but a film of next year would be the newest one for a year. */
#define FUTURE_MAX_NS (24 * NS_PER_HOUR)
/* Of a film that is longer, the index could not remove all. */
#define LENGTH_MAX_NS (366 * 24 * NS_PER_HOUR)

#define HOSTS_MAX     10000
#define AGENTS_MAX    100000

static bool is_agent(const char *s)
{
	if (strlen(s) > FOLDER_AGENT_MAX)
		return false;
	for (; *s; s++) {
		if ((unsigned char)*s >= 0x80 || (!isalnum((unsigned char)*s) && *s != '-'))
			return false;
	}
	return true;
}

/* What a film says about itself. */
struct taken {
	uint64_t start; /* ns since 1970 */
	/* of one that a flight recorder has kept: why ("": none has) and when, ns since 1970 */
	char kept[FILM_LABEL_VALUE_MAX + 1];
	uint64_t kept_at;
};

/* The sender may say anything: a moment outside of the film becomes its end. */
static void learn_kept(const struct film_info *info, struct taken *taken)
{
	uint64_t end = taken->start + (info->end - info->start);
	char at[FILM_LABEL_VALUE_MAX + 1];
	double seconds;

	film_labels_value(info->labels, STORE_KEPT_LABEL, taken->kept);
	film_labels_value(info->labels, STORE_KEPT_TIME_LABEL, at);
	seconds = strtod(at, NULL);
	taken->kept_at = seconds >= (double)taken->start / 1e9 && seconds <= (double)end / 1e9
				 ? (uint64_t)(seconds * 1e9)
				 : end;
}

static int check_film(const char *path, struct taken *taken, struct fail *why)
{
	struct film *film;
	int64_t begins;
	int err = store_check_film(path, why);

	if (!err)
		err = film_open_info(path, &film, why);
	if (err)
		return err;
	if (__builtin_add_overflow(film->info.start, film->info.wall_offset, &begins) ||
	    begins < 0 || film->info.end < film->info.start ||
	    film->info.end - film->info.start > LENGTH_MAX_NS ||
	    (uint64_t)begins + (film->info.end - film->info.start) > clock_wall() + FUTURE_MAX_NS)
		err = fail(why, -EINVAL, "set the clock of the machine that was filmed",
			   "the film is not of a time until now");
	taken->start = err ? 0 : (uint64_t)begins;
	if (!err)
		learn_kept(&film->info, taken);
	film_free(film);
	return err;
}

static size_t count_entries(const struct store *store, const char *name)
{
	char path[PATH_MAX];
	size_t count = 0;
	DIR *dir;

	if (store_path_of(store, name, path, sizeof(path)))
		return 0;
	dir = opendir(path);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* A sender that makes up names must not fill the disk with folders. */
static bool has_room_for_host(const struct store *store, const char *folder)
{
	char path[PATH_MAX], name[FOLDER_NAME_MAX];
	static const char *const rooms[] = {"films", "inbox"};

	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/%s", rooms[i], folder);
		if (!store_path_of(store, name, path, sizeof(path)) && !access(path, F_OK))
			return true;
	}
	return count_entries(store, "films") < HOSTS_MAX &&
	       count_entries(store, "inbox") < HOSTS_MAX;
}

/* With the lock held: the entry of an agent that is known in memory, or null. */
static struct store_agent *find_agent(struct store *store, const char *name)
{
	vec_foreach (&store->agents, agent) {
		if (!strcmp(agent->name, name))
			return agent;
	}
	return NULL;
}

/* Makes sure that the agent's last number is known in memory. */
static int learn_agent(struct store *store, const char *name, struct fail *why)
{
	struct store_agent *agent, fresh = {.is_complete = true};
	struct index *index;
	uint64_t number;
	int err = 0;

	pthread_mutex_lock(&store->lock);
	agent = find_agent(store, name);
	if (agent && agent->is_complete) {
		pthread_mutex_unlock(&store->lock);
		return 0;
	}
	pthread_mutex_unlock(&store->lock);
	index = store_index(store);
	err = index_sender(index, name, &number, why);
	index_free(index);
	if (err)
		return err;
	pthread_mutex_lock(&store->lock);
	agent = find_agent(store, name);
	if (!agent && store->agents.count < AGENTS_MAX) {
		strcpy(fresh.name, name);
		if (vec_push(&store->agents, fresh))
			agent = vec_last(&store->agents);
	}
	if (agent) {
		agent->is_complete = true;
		if (agent->number < number)
			agent->number = number;
	} else {
		err = fail(why, -ENOSPC, NULL, "there are too many agents");
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

static bool was_taken(struct store *store, const struct store_sender *sender)
{
	struct store_agent *agent;
	bool was;

	if (!*sender->agent)
		return false;
	pthread_mutex_lock(&store->lock);
	agent = find_agent(store, sender->agent);
	was = agent && sender->number <= agent->number;
	store->again += was;
	pthread_mutex_unlock(&store->lock);
	return was;
}

/* With the lock held: moves the file in. */
static int move_in(struct store *store, const char *path, const struct store_sender *sender,
		   const char *folder, uint64_t start, char *to, size_t size)
{
	uint64_t number = *sender->agent ? sender->number : store->pushes + 1;
	char name[FOLDER_NAME_MAX];
	struct store_film *film;
	struct stat st;
	int err;

	folder_part_name(name, sizeof(name), folder, start, sender->agent, number);
	err = store_path_of(store, name, to, size);
	if (!err)
		err = folder_make(store->path, name);
	if (err)
		return err;
	if (stat(path, &st))
		return -errno;
	/* first: with the entry, the agent's number counts as taken */
	if (rename(path, to))
		return -errno;
	film = store_add(store, name, (uint64_t)st.st_size, 0);
	if (!film) {
		unlink(to);
		return -ENOMEM;
	}
	film->came = clock_ns();
	store->taken++;
	return 0;
}

static int keep(struct store *store, const char *path, const struct store_sender *sender,
		uint64_t start, bool *again, struct fail *why)
{
	char folder[FOLDER_HOST_MAX + 1], to[PATH_MAX];
	struct store_agent *agent;
	int err = folder_of_host(sender->host, folder, why);

	if (err)
		return err;
	if (!has_room_for_host(store, folder))
		return fail(why, -ENOSPC, NULL, "there are films of %d hosts already", HOSTS_MAX);
	err = folder_sync(path);
	pthread_mutex_lock(&store->lock);
	agent = *sender->agent ? find_agent(store, sender->agent) : NULL;
	/* sent twice at the same time */
	*again = agent && sender->number <= agent->number;
	store->again += *again;
	if (!err && !*again && sender->owner)
		err = store_set_owner(store, sender->host, sender->owner);
	if (!err && !*again)
		err = move_in(store, path, sender, folder, start, to, sizeof(to));
	pthread_mutex_unlock(&store->lock);
	if (!err && *again)
		unlink(path);
	/* it is there, but not for certain: an agent must ask again here, and nowhere else */
	else if (!err && folder_sync_names(to))
		err = -EIO;
	return err ? fail_errno(why, store_note(store, err), NULL, "cannot keep the film") : 0;
}

int store_add_film(struct store *store, const char *path, const struct store_sender *sender,
		   bool *again, struct fail *why)
{
	struct taken taken = {0};
	struct fail unmarked = {0};
	int err;

	*again = false;
	if (store->is_single)
		return fail(why, -EROFS, NULL, "no films are taken here: one film is shown");
	if (!is_agent(sender->agent) || (*sender->agent && !sender->number))
		return fail(why, -EINVAL, NULL, "the agent has no valid name or number");
	err = *sender->agent ? learn_agent(store, sender->agent, why) : 0;
	if (err)
		return store_note(store, err);
	if (was_taken(store, sender)) {
		*again = true;
		unlink(path);
		return 0;
	}
	err = check_film(path, &taken, why);
	if (!err)
		err = keep(store, path, sender, taken.start, again, why);
	/* the film is taken, whether there is room for its mark or not */
	if (!err && !*again && *taken.kept)
		store_keep_mark(store, sender->host, taken.kept_at, taken.kept, &unmarked);
	if (err == -EBADMSG || err == -EINVAL || err == -EPROTONOSUPPORT || err == -ENAMETOOLONG)
		unlink(path);
	return err;
}
