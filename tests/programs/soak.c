// SPDX-License-Identifier: Apache-2.0
/*
 * soak SECONDS: threads that all sources of events look at, with and without real-time priority, so
 * that one preempts the other in the probes:
 *
 *	- encrypt and decrypt requests and answers with OpenSSL, and compare them
 *	- allocate and free
 *	- call counted(), with an argument and a result that are known
 *
 * Says what they did: "rounds N", "bytes N" (allocated by takes()), "calls counted N".
 */
#include <openssl/ssl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK	 10000
#define PAUSE_US 300 /* of a thread that all others wait for */

static atomic_ulong rounds, bytes, calls;
static atomic_bool ends;
static SSL_CTX *context;

static void fail(const char *what)
{
	fprintf(stderr, "soak: %s\n", what);
	exit(1);
}

static void pass(SSL *from, SSL *to, const char *text)
{
	int size = (int)strlen(text);
	char got[256];

	if (SSL_write(from, text, size) != size || SSL_read(to, got, sizeof(got)) != size ||
	    memcmp(got, text, (size_t)size))
		fail("what was decrypted is not what was encrypted");
}

static void *encrypts(void *pauses)
{
	SSL *client = SSL_new(context), *server = SSL_new(context);
	BIO *near, *far;
	int tries = 0;

	BIO_new_bio_pair(&near, 0, &far, 0);
	SSL_set_bio(client, near, near);
	SSL_set_bio(server, far, far);
	SSL_set_connect_state(client);
	SSL_set_accept_state(server);
	while (!SSL_is_init_finished(client) || !SSL_is_init_finished(server)) {
		SSL_do_handshake(client);
		SSL_do_handshake(server);
		if (++tries > 20)
			fail("no handshake");
	}
	while (!ends) {
		pass(client, server, "GET /item/1 HTTP/1.1\r\nHost: soak\r\n\r\n");
		pass(server, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		rounds++;
		if (pauses)
			usleep(PAUSE_US);
	}
	return NULL;
}

__attribute__((noipa)) static void *takes(size_t size)
{
	void *block = malloc(size);

	if (!block)
		fail("no memory");
	memset(block, 1, size);
	bytes += size;
	return block;
}

static void *allocates(void *pauses)
{
	void *held[64] = {0};

	for (unsigned int i = 0; !ends; i = (i + 1) % 64) {
		free(held[i]);
		held[i] = takes(BLOCK);
		if (pauses)
			usleep(PAUSE_US);
	}
	return NULL;
}

__attribute__((noipa)) long counted(long number)
{
	__asm__ volatile("" : "+r"(number));
	return number * 3 + 1;
}

static void *counts(void *pauses)
{
	for (long i = 0; !ends; i++) {
		if (counted(i) != i * 3 + 1)
			fail("a call has another result");
		calls++;
		usleep(pauses ? PAUSE_US : 10 * PAUSE_US);
	}
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *), bool first)
{
	struct sched_param priority = {.sched_priority = 10};
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	if (first) {
		pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
		pthread_attr_setschedparam(&attributes, &priority);
	}
	if (pthread_create(thread, &attributes, run, first ? "pauses" : NULL))
		fail("no thread");
	pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
	void *(*const all[])(void *) = {encrypts, encrypts, allocates, counts};
	pthread_t threads[2][sizeof(all) / sizeof(all[0])];

	if (argc != 2)
		fail("usage: soak SECONDS");
	context = SSL_CTX_new(TLS_method());
	/* without certificates */
	if (!context || !SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION) ||
	    !SSL_CTX_set_cipher_list(context, "aNULL:@SECLEVEL=0"))
		fail("no context");
	SSL_CTX_set_dh_auto(context, 1);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int first = 0; first < 2; first++)
			start(&threads[first][i], all[i], first);
	sleep((unsigned int)atoi(argv[1]));
	ends = true;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (int first = 0; first < 2; first++)
			pthread_join(threads[first][i], NULL);
	printf("rounds %lu\nbytes %lu\ncalls counted %lu\n", rounds, bytes, calls);
	return 0;
}
