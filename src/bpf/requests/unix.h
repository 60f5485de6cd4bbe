/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_REQUESTS_UNIX_H
#define BPF_REQUESTS_UNIX_H

/*
 * Both ends of a Unix socket, or of a pair of them. They have no ports that would tell one
 * connection from another; but the kernel gives each socket a number when it is first asked for
 * one, and each end knows the other one. One that a server has not accepted yet is the client's
 * other end already. Sockets that were accepted have the name of the one that listens.
 */
#include "bpf/capture/maps.h"
#include "bpf/requests/abi.h"

/* The hash of Fowler, Noll and Vo, here of words. */
#define FNV_START 0xcbf29ce484222325ull
#define FNV_PRIME 0x100000001b3ull

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct unix_address___requests {
	int len;
	struct {
		unsigned short sun_family;
	} name[];
};

struct unix_sock {
	struct unix_address___requests *addr;
	struct sock *peer;
};

#pragma clang attribute pop

/* The names that user space was given: by their hashes. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u8);
} requests_unix_told SEC(".maps");

static __always_inline void requests_unix_send(struct requests_unix_record *record)
{
	void *ring = capture_ring();
	__u64 hash = record->hash;
	__u8 told = 1;

	if (!ring || bpf_map_lookup_elem(&requests_unix_told, &hash))
		return;
	record->head.kind = REQUESTS_UNIX_NAME;
	record->head.size = sizeof(*record);
	record->head.time = bpf_ktime_get_ns();
	/* if there is no room, the next socket of that name tries again */
	if (capture_output(ring, CAPTURE_SOURCE_REQUESTS, record, sizeof(*record),
			   BPF_RB_NO_WAKEUP))
		capture_count_loss(CAPTURE_SOURCE_REQUESTS, CAPTURE_LOSS_RING_FULL);
	else
		bpf_map_update_elem(&requests_unix_told, &hash, &told, BPF_ANY);
}

/* A hash of the name of a Unix socket, which user space is given once; 0: it has none. */
static __noinline __u64 requests_unix_name(const struct unix_address___requests *address)
{
	struct requests_unix_record record = {.hash = FNV_START};
	__u32 size;

	if (!address)
		return 0;
	size = BPF_CORE_READ(address, len) - sizeof(unsigned short);
	/* so that the verifier sees the bound of what is used */
	asm volatile("" : "+r"(size));
	if (!size || size > REQUESTS_UNIX_NAME_MAX ||
	    bpf_probe_read_kernel(
		    record.name, size,
		    (void *)address + bpf_core_field_offset(struct unix_address___requests, name) +
			    sizeof(unsigned short)))
		return 0;
	record.size = size;
	for (unsigned long i = 0; i < sizeof(record.words) / sizeof(record.words[0]); i++)
		record.hash = (record.hash ^ record.words[i]) * FNV_PRIME;
	requests_unix_send(&record);
	return record.hash;
}

static __always_inline void requests_unix_put(__u8 to[16], __u64 first, __u64 second)
{
	__builtin_memcpy(to, &first, sizeof(first));
	__builtin_memcpy(to + sizeof(first), &second, sizeof(second));
}

/*
 * Finds both ends of a connection, whose own number is known. The kernel keeps the other end for as
 * long as this one is open, which it is within a call.
 */
static __always_inline void requests_unix_ends(struct sock *sk, __u64 number, __u8 own[16],
					       __u8 peer[16])
{
	struct unix_sock *near = bpf_skc_to_unix_sock(sk);
	struct sock *far;

	if (!near)
		return;
	requests_unix_put(own, number, requests_unix_name(BPF_CORE_READ(near, addr)));
	far = near->peer;
	if (far)
		requests_unix_put(peer, bpf_get_socket_cookie(far),
				  requests_unix_name(BPF_CORE_READ((struct unix_sock *)far, addr)));
}

#endif
