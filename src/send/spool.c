// SPDX-License-Identifier: Apache-2.0
#include "send/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/database.h"
#include "base/text.h"
#include "base/vec.h"
#include "film/writer.h"
#include "send/small_file.h"

#define NUMBER_DIGITS 20

/* Films that wait or stand aside; the bytes of their blocks on the disk do not count. */
#define FILMS_MAX 1000000

struct waiting {
	uint64_t number, bytes;
};

struct spool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int folder, lock_fd;
	char path[PATH_MAX - 64]; /* absolute */
	char agent[SPOOL_AGENT_SIZE];
	uint64_t limit, last;		  /* last: the highest number that was given */
	uint64_t done;			  /* the highest of a complete film since the start */
	vec(struct waiting) films, aside; /* by number */
	uint64_t film_bytes, aside_bytes;
	uint64_t lost_now; /* since the last film that was sent */
	struct spool_status status;
	bool woken;
};

static int cannot(struct fail *why, int err, const char *what, const char *path)
{
	return fail_errno(why, err, "is there room, and may it be written to?", "cannot %s %s",
			  what, path);
}

static bool read_line(struct spool *s, const char *name, char *to, size_t size)
{
	if (small_file_read(s->folder, name, to, size))
		*to = 0;
	to[strcspn(to, "\n")] = 0;
	return *to;
}

static bool is_agent(const char *id)
{
	return strlen(id) == SPOOL_AGENT_SIZE - 1 && strspn(id, "0123456789abcdef") == strlen(id);
}

/* The agent's identity: nothing of the machine or its user, a number that was drawn once. */
static int know_agent(struct spool *s, struct fail *why)
{
	uint8_t random[(SPOOL_AGENT_SIZE - 1) / 2];
	int err;

	if (read_line(s, "agent", s->agent, sizeof(s->agent)) && is_agent(s->agent))
		return 0;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return cannot(why, -errno, "draw a number for", s->path);
	text_hex(s->agent, sizeof(s->agent), random, sizeof(random));
	err = small_file_write(s->folder, "agent", s->agent, true);
	return err ? cannot(why, err, "write to the spool", s->path) : 0;
}

/* Without room for it, only who is killed now forgets it. */
static void put_number(struct spool *s, const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", number);
	small_file_write(s->folder, name, text, false);
}

static void name_of(uint64_t number, const char *ending, char name[64])
{
	snprintf(name, 64, "%020" PRIu64 "%s", number, ending);
}

/* The number of "NUMBER.film", or 0. */
static uint64_t number_of(const char *name, const char *ending)
{
	char digits[NUMBER_DIGITS + 1];
	uint64_t number;

	if (strlen(name) != NUMBER_DIGITS + strlen(ending) || strcmp(name + NUMBER_DIGITS, ending))
		return 0;
	memcpy(digits, name, NUMBER_DIGITS);
	digits[NUMBER_DIGITS] = 0;
	return text_parse_u64(digits, 1, INT64_MAX, &number) ? 0 : number;
}

static uint64_t bytes_of(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)
		       ? 0
		       : (uint64_t)st.st_size;
}

static int by_number(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static void remove_side_files(struct spool *s, uint64_t number)
{
	char path[PATH_MAX], name[64];

	name_of(number, ".new", name);
	snprintf(path, sizeof(path), "%s/%s", s->path, name);
	(void)!database_remove(path);
}

/* What was committed before an agent was killed is a film. */
static void complete(struct spool *s, uint64_t number)
{
	char path[PATH_MAX], name[64], done[64];
	struct film_writer *film;
	struct fail ignored;

	name_of(number, ".new", name);
	name_of(number, ".film", done);
	snprintf(path, sizeof(path), "%s/%s", s->path, name);
	if (!film_open_for_naming(path, &film, &ignored) && !film_close(film, 0, &ignored))
		renameat(s->folder, name, s->folder, done);
	remove_side_files(s, number);
}

/* Calls emit() with the number of each file of the folder that has such an ending. */
static int each_file(struct spool *s, int folder, const char *ending,
		     void (*emit)(struct spool *s, uint64_t number))
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	uint64_t number;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		number = number_of(entry->d_name, ending);
		if (number)
			emit(s, number);
	}
	closedir(dir);
	return 0;
}

static void found_film(struct spool *s, uint64_t number)
{
	char name[64];

	name_of(number, ".film", name);
	if (s->films.count < FILMS_MAX)
		vec_push(&s->films, (struct waiting){number, bytes_of(s->folder, name)});
}

static void found_aside(struct spool *s, uint64_t number)
{
	char name[64] = "aside/";

	name_of(number, ".film", name + strlen(name));
	if (s->aside.count < FILMS_MAX)
		vec_push(&s->aside, (struct waiting){number, bytes_of(s->folder, name)});
}

static uint64_t sum_up(const struct waiting *films, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += films[i].bytes;
	return bytes;
}

static int read_folder(struct spool *s)
{
	char number[32];
	int aside, err = each_file(s, s->folder, ".new", complete);

	/* side files whose film is gone */
	if (!err)
		err = each_file(s, s->folder, ".new-wal", remove_side_files);
	if (!err)
		err = each_file(s, s->folder, ".new-shm", remove_side_files);

	if (!err)
		err = each_file(s, s->folder, ".film", found_film);
	aside = openat(s->folder, "aside", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (aside >= 0) {
		each_file(s, aside, ".film", found_aside);
		close(aside);
	}
	if (s->films.count)
		qsort(s->films.at, s->films.count, sizeof(*s->films.at), by_number);
	if (s->aside.count)
		qsort(s->aside.at, s->aside.count, sizeof(*s->aside.at), by_number);
	s->film_bytes = sum_up(s->films.at, s->films.count);
	s->aside_bytes = sum_up(s->aside.at, s->aside.count);
	if (read_line(s, "lost", number, sizeof(number)))
		text_parse_u64(number, 0, INT64_MAX, &s->lost_now);
	if (read_line(s, "last", number, sizeof(number)))
		text_parse_u64(number, 0, INT64_MAX, &s->last);
	if (s->films.count && vec_last(&s->films)->number > s->last)
		s->last = vec_last(&s->films)->number;
	s->done = s->films.count ? vec_last(&s->films)->number : 0;
	return err;
}

/* All with the lock held. */
static void remove_at(struct spool *s, size_t i)
{
	char name[64];

	name_of(s->films.at[i].number, ".film", name);
	unlinkat(s->folder, name, 0);
	s->film_bytes -= s->films.at[i].bytes;
	s->films.count--;
	memmove(s->films.at + i, s->films.at + i + 1, (s->films.count - i) * sizeof(*s->films.at));
}

static void remove_oldest_aside(struct spool *s)
{
	char name[64] = "aside/";

	name_of(s->aside.at[0].number, ".film", name + strlen(name));
	unlinkat(s->folder, name, 0);
	s->aside_bytes -= s->aside.at[0].bytes;
	s->aside.count--;
	memmove(s->aside.at, s->aside.at + 1, s->aside.count * sizeof(*s->aside.at));
}

/* What no server can use goes first, then the oldest that wait, but never the last one. */
static void keep_limit(struct spool *s)
{
	uint64_t before = s->lost_now;

	while (s->film_bytes + s->aside_bytes > s->limit && s->aside.count)
		remove_oldest_aside(s);
	while (s->film_bytes > s->limit && s->films.count > 1) {
		remove_at(s, 0);
		s->lost_now++;
		s->status.lost++;
	}
	if (s->lost_now != before)
		put_number(s, "lost", s->lost_now);
}

static int make_folder(const char *path, struct fail *why)
{
	char *copy = strdup(path), *at = copy;

	if (!copy)
		return cannot(why, -ENOMEM, "make", path);
	while (*at && (at = strchr(at + 1, '/'))) {
		*at = 0;
		mkdir(copy, 0755);
		*at = '/';
	}
	free(copy);
	if (mkdir(path, 0700) && errno != EEXIST)
		return cannot(why, -errno, "make the spool", path);
	return 0;
}

static int open_folder(struct spool *s, const char *path, struct fail *why)
{
	char *absolute;
	int err = make_folder(path, why);

	if (err)
		return err;
	absolute = realpath(path, NULL);
	if (!absolute || strlen(absolute) >= sizeof(s->path)) {
		free(absolute);
		return cannot(why, absolute ? -ENAMETOOLONG : -errno, "open the spool", path);
	}
	strcpy(s->path, absolute);
	free(absolute);
	s->folder = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->folder < 0)
		return cannot(why, -errno, "open the spool", path);
	s->lock_fd = openat(s->folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock_fd < 0)
		return cannot(why, -errno, "write to the spool", path);
	if (!flock(s->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return cannot(why, -errno, "lock the spool", path);
	return fail(why, -EBUSY, "give each its own with --spool",
		    "cannot use the spool %s: another agent does", path);
}

int spool_open(const char *path, uint64_t limit, struct spool **spool, struct fail *why)
{
	struct spool *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	int err;

	if (!s)
		return cannot(why, -ENOMEM, "open the spool", path);
	s->folder = s->lock_fd = -1;
	s->limit = limit;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	err = open_folder(s, path, why);
	if (!err)
		err = know_agent(s, why);
	if (!err) {
		err = read_folder(s);
		if (err)
			cannot(why, err, "read the spool", path);
	}
	if (err) {
		spool_free(s);
		return err;
	}
	keep_limit(s);
	*spool = s;
	return 0;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	if (s->folder >= 0)
		close(s->folder);
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	vec_free(&s->films);
	vec_free(&s->aside);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *spool_agent(const struct spool *spool)
{
	return spool->agent;
}

int spool_folder(const struct spool *spool)
{
	return spool->folder;
}

int spool_next(struct spool *s, uint64_t wall_now, char *path, size_t size, struct fail *why)
{
	char name[64];

	pthread_mutex_lock(&s->lock);
	s->last = wall_now / MS_NS > s->last ? wall_now / MS_NS : s->last + 1;
	put_number(s, "last", s->last);
	name_of(s->last, ".new", name);
	pthread_mutex_unlock(&s->lock);
	if ((size_t)snprintf(path, size, "%s/%s", s->path, name) >= size)
		return cannot(why, -ENAMETOOLONG, "record to", s->path);
	return 0;
}

/* A complete film gets the next number: a server keeps only what rises. With the lock held. */
static int assign_next(struct spool *s, uint64_t *number, char name[64])
{
	char before[64];

	name_of(*number, ".film", before);
	*number = ++s->last;
	put_number(s, "last", s->last);
	name_of(*number, ".film", name);
	return renameat(s->folder, before, s->folder, name) ? -errno : 0;
}

int spool_done(struct spool *s, const char *path, struct fail *why)
{
	const char *slash = strrchr(path, '/');
	uint64_t number = number_of(slash ? slash + 1 : path, ".new");
	char name[64], done[64], wal[72];
	int err = number ? 0 : -EINVAL;

	name_of(number, ".new", name);
	name_of(number, ".film", done);
	pthread_mutex_lock(&s->lock);
	/* a full disk has left an incomplete film beside it */
	snprintf(wal, sizeof(wal), "%s-wal", name);
	if (!err && !faccessat(s->folder, wal, F_OK, AT_SYMLINK_NOFOLLOW))
		complete(s, number);
	else if (!err && renameat(s->folder, name, s->folder, done))
		err = -errno;
	if (!err && number < s->done)
		err = assign_next(s, &number, done);
	if (!err && faccessat(s->folder, done, F_OK, AT_SYMLINK_NOFOLLOW))
		err = -errno;
	if (!err && !vec_push(&s->films, (struct waiting){number, bytes_of(s->folder, done)}))
		err = -ENOMEM;
	if (!err) {
		s->done = number;
		s->film_bytes += vec_last(&s->films)->bytes;
		keep_limit(s);
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return err ? cannot(why, err, "keep the film", path) : 0;
}

bool spool_after(struct spool *s, uint64_t number, struct spool_film *film)
{
	char name[64];
	size_t i = 0;
	bool is;

	pthread_mutex_lock(&s->lock);
	while (i < s->films.count && s->films.at[i].number <= number)
		i++;
	is = i < s->films.count;
	if (is) {
		film->number = s->films.at[i].number;
		film->lost = i ? 0 : s->lost_now;
		name_of(film->number, ".film", name);
		snprintf(film->path, sizeof(film->path), "%s/%s", s->path, name);
	}
	pthread_mutex_unlock(&s->lock);
	return is;
}

/* Films with a number above this one end it. */
static void wait_for(struct spool *s, uint64_t ns, uint64_t number)
{
	uint64_t end = clock_ns() + ns;
	struct timespec at = {(time_t)(end / 1000000000), (long)(end % 1000000000)};

	pthread_mutex_lock(&s->lock);
	while (!s->woken && !(s->films.count && vec_last(&s->films)->number > number))
		if (pthread_cond_timedwait(&s->changed, &s->lock, &at) == ETIMEDOUT)
			break;
	s->woken = false;
	pthread_mutex_unlock(&s->lock);
}

void spool_wait(struct spool *s, uint64_t number, uint64_t ns)
{
	wait_for(s, ns, number);
}

void spool_pause(struct spool *s, uint64_t ns)
{
	wait_for(s, ns, UINT64_MAX);
}

void spool_wake(struct spool *s)
{
	pthread_mutex_lock(&s->lock);
	s->woken = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Where the film is now; it may be gone, to make room for others. */
static size_t find_film(const struct spool *s, uint64_t number)
{
	size_t i = 0;

	while (i < s->films.count && s->films.at[i].number != number)
		i++;
	return i;
}

int spool_renumber(struct spool *s, uint64_t number)
{
	struct waiting film;
	char name[64];
	int err = -ENOENT;
	size_t i;

	pthread_mutex_lock(&s->lock);
	i = find_film(s, number);
	if (i < s->films.count) {
		film = s->films.at[i];
		err = assign_next(s, &film.number, name);
	}
	if (!err) {
		memmove(s->films.at + i, s->films.at + i + 1,
			(s->films.count - i - 1) * sizeof(*s->films.at));
		*vec_last(&s->films) = film;
		s->done = film.number;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void set_lost(struct spool *s, uint64_t lost)
{
	if (lost == s->lost_now)
		return;
	s->lost_now = lost;
	put_number(s, "lost", lost);
}

void spool_sent(struct spool *s, const struct spool_film *film)
{
	uint64_t lost = film->lost;
	size_t i;

	pthread_mutex_lock(&s->lock);
	i = find_film(s, film->number);
	if (i < s->films.count) {
		remove_at(s, i);
	} else {
		/* it made room for others while it was on its way */
		lost++;
		s->status.lost -= s->status.lost > 0;
	}
	set_lost(s, s->lost_now - (lost < s->lost_now ? lost : s->lost_now));
	s->status.sent++;
	pthread_mutex_unlock(&s->lock);
}

void spool_gone(struct spool *s, const struct spool_film *film)
{
	size_t i;

	pthread_mutex_lock(&s->lock);
	i = find_film(s, film->number);
	if (i < s->films.count) {
		remove_at(s, i);
		s->status.lost++;
		set_lost(s, s->lost_now + 1);
	}
	pthread_mutex_unlock(&s->lock);
}

void spool_set_aside(struct spool *s, const struct spool_film *film)
{
	char name[64], to[64] = "aside/";
	struct waiting moved;
	size_t i;

	name_of(film->number, ".film", name);
	name_of(film->number, ".film", to + strlen(to));
	pthread_mutex_lock(&s->lock);
	i = find_film(s, film->number);
	if (i < s->films.count) {
		moved = s->films.at[i];
		mkdirat(s->folder, "aside", 0700);
		/* where it cannot be kept it goes: the next ones must not wait for it */
		if (!renameat(s->folder, name, s->folder, to) && vec_push(&s->aside, moved))
			s->aside_bytes += moved.bytes;
		remove_at(s, i);
		s->status.set_aside++;
		keep_limit(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void spool_set_limit(struct spool *s, uint64_t limit)
{
	pthread_mutex_lock(&s->lock);
	s->limit = limit;
	keep_limit(s);
	pthread_mutex_unlock(&s->lock);
}

void spool_status(struct spool *s, struct spool_status *status)
{
	pthread_mutex_lock(&s->lock);
	*status = s->status;
	status->films = s->films.count;
	status->bytes = s->film_bytes;
	pthread_mutex_unlock(&s->lock);
}
