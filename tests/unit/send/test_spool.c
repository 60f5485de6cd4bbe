// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "film/reader.h"
#include "film/writer.h"
#include "send/sender.h"
#include "spool_fixture.h"

#define SECOND 1000000000ull
#define NOW    (1767225600 * SECOND)

static uint64_t first_number(struct fixture *f)
{
	struct spool_film film;

	return spool_first(f->spool, &film) ? film.number : 0;
}

static void send_first(struct fixture *f)
{
	struct spool_film film;

	assert_true(spool_first(f->spool, &film));
	spool_sent(f->spool, &film);
	assert_int_equal(access(film.path, F_OK), -1);
}

static void test_order(void **state)
{
	struct fixture *f = *state;
	char agent[SPOOL_AGENT_SIZE];

	open_spool(f, 1000000);
	strcpy(agent, spool_agent(f->spool));
	assert_int_equal(strlen(agent), 32);
	assert_int_equal(first_number(f), 0);
	add_film(f, NOW, 10);
	/* the clock goes back, and stands still: numbers rise */
	add_film(f, NOW - 5 * SECOND, 10);
	add_film(f, NOW, 10);
	add_film(f, NOW + 7 * SECOND, 10);
	assert_int_equal(first_number(f), NOW / 1000000);
	send_first(f);
	assert_int_equal(first_number(f), NOW / 1000000 + 1);

	/* the same after a new start, by the same agent */
	open_spool(f, 1000000);
	assert_string_equal(spool_agent(f->spool), agent);
	assert_int_equal(first_number(f), NOW / 1000000 + 1);
	send_first(f);
	send_first(f);
	assert_int_equal(first_number(f), NOW / 1000000 + 7000);
	send_first(f);
	assert_int_equal(first_number(f), 0);

	/* and also where nothing waited, and the clock went back meanwhile */
	open_spool(f, 1000000);
	add_film(f, NOW - 100 * SECOND, 10);
	assert_int_equal(first_number(f), NOW / 1000000 + 7001);
}

/* A film that a later one has overtaken, and one that is to be sent as another: numbers rise. */
static void test_next_number(void **state)
{
	struct fixture *f = *state;
	char first[PATH_MAX], second[PATH_MAX];
	struct spool_film film;
	struct fail why;
	uint64_t overtaken;

	open_spool(f, 1000000);
	assert_int_equal(spool_next(f->spool, NOW, first, sizeof(first), &why), 0);
	assert_int_equal(spool_next(f->spool, NOW + SECOND, second, sizeof(second), &why), 0);
	close(open(second, O_WRONLY | O_CREAT | O_EXCL, 0600));
	close(open(first, O_WRONLY | O_CREAT | O_EXCL, 0600));
	assert_int_equal(spool_done(f->spool, second, &why), 0);
	assert_int_equal(spool_done(f->spool, first, &why), 0);
	assert_int_equal(first_number(f), (NOW + SECOND) / 1000000);
	overtaken = (NOW + SECOND) / 1000000 + 1;
	assert_true(spool_after(f->spool, first_number(f), &film));
	assert_int_equal(film.number, overtaken);
	assert_int_equal(access(film.path, F_OK), 0);
	assert_false(spool_after(f->spool, overtaken, &film));

	assert_int_equal(spool_renumber(f->spool, first_number(f)), 0);
	assert_int_equal(first_number(f), overtaken);
	assert_true(spool_after(f->spool, overtaken, &film));
	assert_int_equal(film.number, overtaken + 1);
	assert_int_equal(access(film.path, F_OK), 0);
	assert_int_equal(spool_renumber(f->spool, NOW / 1000000), -ENOENT);
	send_first(f);
	send_first(f);
	assert_int_equal(first_number(f), 0);
}

static void test_limit(void **state)
{
	struct fixture *f = *state;
	struct spool_status status;
	struct spool_film film;

	open_spool(f, 1000);
	for (int i = 0; i < 5; i++)
		add_film(f, NOW + (uint64_t)i * SECOND, 300);
	spool_status(f->spool, &status);
	assert_int_equal(status.films, 3);
	assert_int_equal(status.bytes, 900);
	assert_int_equal(status.lost, 2);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.number, (NOW + 2 * SECOND) / 1000000);
	assert_int_equal(film.lost, 2);

	/* the server learns it also after a new start, and once */
	open_spool(f, 1000);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 2);
	spool_sent(f->spool, &film);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 0);

	/* what is of no use goes before what waits */
	spool_set_aside(f->spool, &film);
	add_film(f, NOW + 10 * SECOND, 300);
	add_film(f, NOW + 11 * SECOND, 300);
	spool_status(f->spool, &status);
	assert_int_equal(status.films, 3);
	assert_int_equal(status.set_aside, 1);
	assert_int_equal(status.lost, 0);

	/* one film is kept, however large it is */
	add_film(f, NOW + 20 * SECOND, 5000);
	spool_status(f->spool, &status);
	assert_int_equal(status.films, 1);
	assert_int_equal(status.lost, 3);
}

/* While the first film is on its way, it makes room for another one. */
static void make_room(struct fixture *f, struct spool_film *film)
{
	open_spool(f, 500);
	add_film(f, NOW, 300);
	assert_true(spool_first(f->spool, film));
	add_film(f, NOW + SECOND, 300);
}

/* A film that makes room for others while it is sent, and is sent nevertheless, is not lost. */
static void test_sent_while_removed(void **state)
{
	struct fixture *f = *state;
	struct spool_status status;
	struct spool_film film;

	make_room(f, &film);
	spool_sent(f->spool, &film);
	spool_status(f->spool, &status);
	assert_int_equal(status.lost, 0);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 0);
	/* nor is it after a new start */
	open_spool(f, 500);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 0);
}

/* A film that is not there any more when it is to be sent was not sent, and is lost once. */
static void test_gone(void **state)
{
	struct fixture *f = *state;
	struct spool_status status;
	struct spool_film film;

	make_room(f, &film);
	spool_gone(f->spool, &film);
	spool_status(f->spool, &status);
	assert_int_equal(status.lost, 1);
	assert_int_equal(status.sent, 0);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 1);
	/* a user removes it */
	assert_int_equal(unlink(film.path), 0);
	spool_gone(f->spool, &film);
	assert_int_equal(first_number(f), 0);
	open_spool(f, 500);
	add_film(f, NOW + 2 * SECOND, 300);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.lost, 2);
}

static void test_one_agent(void **state)
{
	struct fixture *f = *state;
	struct spool *other;
	struct fail why;

	open_spool(f, 1000);
	assert_int_equal(spool_open(f->path, 1000, &other, &why), -EBUSY);
	assert_int_equal(spool_open("", 1000, &other, &why), -ENOENT);
}

/* Records a second, as far as the disk knows, and is killed. */
static void record_and_die(const char *path)
{
	const struct film_info info = {"0", "host", "6.1", "x86_64", "record", 1, 1000, 0, 0, ""};
	const struct film_event event = {"on-cpu", "ns", "cpu-clock", 99};
	struct film_writer *film;
	struct fail why;
	uint32_t id;

	if (film_create(path, &info, &film, &why))
		_exit(1);
	id = film_add_event(film, &event);
	film_sample(film, id, 1500, 0, 0, 10);
	if (film_commit(film, 2000, true, &why))
		_exit(1);
	film_sample(film, id, 2500, 0, 0, 10);
	_exit(0);
}

static void test_killed(void **state)
{
	struct fixture *f = *state;
	uint64_t samples, total;
	struct spool_film film;
	char path[4096], left[4096 + 8], orphan[4096 + 16];
	struct film *read;
	struct fail why;
	int status;
	pid_t pid;

	open_spool(f, 1000000);
	assert_int_equal(spool_next(f->spool, NOW, path, sizeof(path), &why), 0);
	pid = fork();
	if (!pid)
		record_and_die(path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* nothing was recorded yet when this one began */
	assert_int_equal(spool_next(f->spool, NOW + SECOND, left, sizeof(left), &why), 0);
	close(open(left, O_WRONLY | O_CREAT, 0600));
	/* and side files of one that is gone */
	snprintf(orphan, sizeof(orphan), "%.*s7.new-wal", (int)strlen(left) - 5, left);
	close(open(orphan, O_WRONLY | O_CREAT, 0600));

	open_spool(f, 1000000);
	assert_int_equal(access(orphan, F_OK), -1);
	assert_true(spool_first(f->spool, &film));
	assert_int_equal(film.number, NOW / 1000000);
	assert_int_equal(film_open(film.path, &read, &why), 0);
	film_event_total(read, 1, &samples, &total);
	assert_int_equal(samples, 1);
	film_free(read);
	/* one file, which can be sent */
	snprintf(left, sizeof(left), "%s-wal", path);
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access(path, F_OK), -1);
	spool_sent(f->spool, &film);
	assert_false(spool_first(f->spool, &film));
}

/* A destination that does what the test sets. */
struct told {
	const enum sent *answers;
	size_t count, next;
	uint64_t numbers[64];
	size_t taken;
	unsigned int troubles, works, almost, useless;
};

static enum sent send_as_told(void *self, const struct spool_film *film, uint64_t *retry_after,
			      struct fail *why)
{
	struct told *told = self;
	enum sent answer = told->next < told->count ? told->answers[told->next++] : SENT;

	(void)retry_after;
	why->err = -EIO;
	snprintf(why->what, sizeof(why->what), "no");
	if (answer == SENT)
		told->numbers[told->taken++] = film->number;
	return answer;
}

static void count_trouble(void *context, const struct fail *why)
{
	(void)why;
	((struct told *)context)->troubles++;
}

static void count_works(void *context, uint64_t films)
{
	(void)films;
	((struct told *)context)->works++;
}

static void count_almost(void *context, const struct fail *why)
{
	(void)why;
	((struct told *)context)->almost++;
}

static void count_useless(void *context, const struct spool_film *film, const struct fail *why)
{
	(void)film;
	(void)why;
	((struct told *)context)->useless++;
}

static struct sender *start(struct fixture *f, struct told *told, atomic_bool *stop)
{
	const struct sender_options options = {
		.spool = f->spool,
		.destination = {send_as_told, NULL, told},
		.stop = stop,
		.trouble = count_trouble,
		.works = count_works,
		.almost = count_almost,
		.useless = count_useless,
		.context = told,
	};
	struct sender *sender;
	struct fail why;

	assert_int_equal(sender_start(&options, &sender, &why), 0);
	return sender;
}

static void test_sends_in_order(void **state)
{
	static const enum sent answers[] = {SENT,	  SENT_LATER, SENT, SENT_BUT,
					    SENT_USELESS, SENT_GONE,  SENT};
	struct told told = {.answers = answers, .count = 7};
	struct fixture *f = *state;
	struct spool_status status;
	struct sender *sender;
	atomic_bool stop = false;

	open_spool(f, 1000000);
	for (int i = 0; i < 7; i++)
		add_film(f, NOW + (uint64_t)i * SECOND, 10);
	sender = start(f, &told, &stop);
	/* the pause after its one failure is over when the last film is gone */
	while (first_number(f))
		usleep(10000);
	sender_stop(sender, 10 * SECOND);
	assert_int_equal(told.taken, 4);
	for (size_t i = 1; i < told.taken; i++)
		assert_true(told.numbers[i] > told.numbers[i - 1]);
	assert_int_equal(told.troubles, 1);
	assert_int_equal(told.works, 1);
	assert_int_equal(told.almost, 1);
	assert_int_equal(told.useless, 1);
	spool_status(f->spool, &status);
	assert_int_equal(status.sent, 5);
	assert_int_equal(status.lost, 1);
	assert_int_equal(first_number(f), 0);
}

/* When it is to end, it does not wait for a server that is away; the films stay. */
static void test_ends(void **state)
{
	static const enum sent answers[] = {SENT_LATER, SENT_LATER, SENT_LATER, SENT_LATER};
	struct told told = {.answers = answers, .count = 4};
	struct fixture *f = *state;
	struct spool_status status;
	atomic_bool stop = false;

	open_spool(f, 1000000);
	add_film(f, NOW, 10);
	add_film(f, NOW + SECOND, 10);
	sender_stop(start(f, &told, &stop), 60 * SECOND);
	spool_status(f->spool, &status);
	assert_int_equal(status.films, 2);
	assert_true(told.troubles > 0);
	assert_int_equal(told.taken, 0);
}

static void replied(unsigned int status, enum sent sent)
{
	struct http_reply reply = {.status = status};
	struct fail why;

	assert_int_equal(sent_by_reply("http://x", &reply, &why), sent);
}

static void test_replies(void **state)
{
	(void)state;
	replied(200, SENT);
	replied(204, SENT);
	replied(301, SENT_REFUSED);
	replied(400, SENT_USELESS);
	replied(401, SENT_REFUSED);
	replied(403, SENT_REFUSED);
	replied(404, SENT_REFUSED);
	replied(413, SENT_USELESS);
	replied(429, SENT_LATER);
	replied(500, SENT_LATER);
	replied(507, SENT_LATER);
}

static void says(const char *words, const char *wanted)
{
	struct http_reply reply = {.status = 401};
	struct fail why;

	snprintf(reply.words, sizeof(reply.words), "%s", words);
	assert_int_equal(sent_by_reply("http://x", &reply, &why), SENT_REFUSED);
	assert_string_equal(why.what, wanted);
}

static void test_words_of_replies(void **state)
{
	(void)state;
	says("no token\nat all", "http://x refuses what is sent: 401 no token");
	says("{\"error\":\"this \\\"token\\\" is none\"}\n",
	     "http://x refuses what is sent: 401 this \"token\" is none");
	says("{\"error\":\"cut \\", "http://x refuses what is sent: 401 cut \\");
	says("{\"other\":1}", "http://x refuses what is sent: 401 {\"other\":1}");
}

static void test_urls(void **state)
{
	struct fail why;

	(void)state;
	assert_int_equal(http_check_url("https://films.example.com:7171", true, &why), 0);
	assert_int_equal(http_check_url("http://127.0.0.1:7171", true, &why), 0);
	assert_int_equal(http_check_url("http://localhost", true, &why), 0);
	assert_int_equal(http_check_url("http://[::1]:1", true, &why), 0);
	assert_int_equal(http_check_url("http://films.example.com", false, &why), 0);
	/* a token in clear text over the network */
	assert_int_equal(http_check_url("http://films.example.com", true, &why), -EINVAL);
	assert_int_equal(http_check_url("http://127.0.0.1.example.com", true, &why), -EINVAL);
	assert_int_equal(http_check_url("file:///etc/passwd", false, &why), -EINVAL);
	assert_int_equal(http_check_url("films.example.com:7171", false, &why), -EINVAL);
	assert_int_equal(http_check_url("", false, &why), -EINVAL);
}

static void test_passwords(void **state)
{
	const char *user;

	(void)state;
	assert_string_equal(http_shown("https://me:a@b/c@films.example.com"),
			    "b/c@films.example.com");
	assert_string_equal(http_shown("https://me:p@ss@films.example.com:1/x@y"),
			    "films.example.com:1/x@y");
	assert_string_equal(http_shown("https://films.example.com/?a=b@c"),
			    "https://films.example.com/?a=b@c");
	assert_string_equal(http_shown("me@here"), "me@here");
	assert_string_equal(http_shown(""), "");
	assert_int_equal(http_user("--otlp=http://me:secret@host/", &user), 10);
	assert_string_equal(user, "me:secret@host/");
	assert_int_equal(http_user("--label", &user), 0);
	assert_string_equal(user, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_next_number, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sent_while_removed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_one_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_killed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sends_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_ends, set_up, tear_down),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_urls),
		cmocka_unit_test(test_passwords),
		cmocka_unit_test(test_words_of_replies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
