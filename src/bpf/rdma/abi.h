/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_RDMA_ABI_H
#define BPF_RDMA_ABI_H

/* What rdma.bpf.c and learn.bpf.c record of programs that use RDMA by libibverbs. */

#include "arch/arch.h"
#include "bpf/capture/abi.h"

enum {
	/* work requests are posted: a capture_record with RDMA_POST_WORDS() behind it */
	RDMA_POST = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 0),
	RDMA_DONE = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 1),  /* a struct rdma_done */
	RDMA_TABLE = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 2), /* a struct rdma_table */
	/*
	 * Memory is to be registered: a capture_record. Its key is a number of the call, which its
	 * rdma_memory has, too.
	 */
	RDMA_REGISTER = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 3),
	RDMA_MEMORY = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 4), /* a struct rdma_memory */
	/* calls of a function that polls were learned: a capture_head */
	RDMA_LEARNED = CAPTURE_KIND(CAPTURE_SOURCE_RDMA, 5),
};

/* What is called where a probe stands: the low bits of its cookie. */
enum rdma_call {
	/* of a provider: (queue pair or shared receive queue, requests, …) */
	RDMA_CALL_POST_SEND = 1,
	RDMA_CALL_POST_RECEIVE,
	RDMA_CALL_POST_SHARED,
	/* (extended queue pair, …): begins a request, whose opcode is in the cookie; */
	RDMA_CALL_BEGIN,
	/* says what it moves: (…, lkey, address, length), (…, count, list of struct ibv_sge), */
	RDMA_CALL_SGE,
	RDMA_CALL_SGES,
	/* (…, address, length), (…, count, list of struct ibv_data_buf); */
	RDMA_CALL_INLINE,
	RDMA_CALL_INLINES,
	RDMA_CALL_COMPLETE, /* ends all that have begun */
	/*
	 * inside of poll_cq(), where a completion has just been written: its place is in the cookie
	 */
	RDMA_CALL_DONE,
	/* of libibverbs: (context, …), (protection domain, …), (queue pair, …) */
	RDMA_CALL_CONTEXT,
	RDMA_CALL_DOMAIN,
	RDMA_CALL_PAIR,
	RDMA_CALL_MODIFY,     /* (queue pair, attributes, which of them) */
	RDMA_CALL_OPENED,     /* a function returns a context */
	RDMA_CALL_REGISTER,   /* (protection domain, …, bytes, …) */
	RDMA_CALL_REGISTERED, /* it returns the region */
	RDMA_CALL_DEREGISTER, /* (region) */
	/* of poll_cq(), for a while: it begins, returns, and a branch in it */
	RDMA_CALL_POLL,
	RDMA_CALL_POLLED,
	RDMA_CALL_SITE,
};
#define RDMA_CALL_MASK	    0xff
#define RDMA_COOKIE_SHIFT   8  /* of an opcode, a site's number, or a register */
#define RDMA_DISTANCE_SHIFT 16 /* the register less this (signed) is where a completion is */

/*
 * Structures of rdma-core's verbs.h, which programs are compiled against and which therefore do not
 * change: offsets in bytes.
 */
enum {
	VERBS_OPS_POLL = 96, /* struct ibv_context, its ops */
	VERBS_OPS_POST_SHARED = 168,
	VERBS_OPS_POST_SEND = 208,
	VERBS_OPS_POST_RECEIVE = 216,
	VERBS_CONTEXT_FD = 264,
	VERBS_CONTEXT_ABI = 320, /* all bits: as libraries have it since 2011 */
	VERBS_CONTEXT_BYTES = 328,
	VERBS_DOMAIN_CONTEXT = 0, /* struct ibv_pd, ibv_qp */
	VERBS_PAIR_NUMBER = 52,	  /* struct ibv_qp */
	VERBS_PAIR_ID = 168,	  /* struct ibv_qp_ex: wr_id, wr_flags, and its functions: */
	VERBS_PAIR_FLAGS = 176,
	VERBS_PAIR_FUNCTIONS = 184,
};

/* The functions of a struct ibv_qp_ex, in its order. */
enum {
	VERBS_WR_COMPARE_SWAP,
	VERBS_WR_FETCH_ADD,
	VERBS_WR_BIND,
	VERBS_WR_LOCAL_INVALIDATE,
	VERBS_WR_READ,
	VERBS_WR_WRITE,
	VERBS_WR_WRITE_IMMEDIATE,
	VERBS_WR_SEND,
	VERBS_WR_SEND_IMMEDIATE,
	VERBS_WR_SEND_INVALIDATE,
	VERBS_WR_SEND_TSO,
	VERBS_WR_UD_ADDRESS,
	VERBS_WR_XRC_NUMBER,
	VERBS_WR_INLINE,
	VERBS_WR_INLINES,
	VERBS_WR_SGE,
	VERBS_WR_SGES,
	VERBS_WR_START,
	VERBS_WR_COMPLETE,
	VERBS_WR_FUNCTIONS
};

/* enum ibv_wr_opcode, and requests that have none */
enum {
	VERBS_WRITE,
	VERBS_WRITE_IMMEDIATE,
	VERBS_SEND,
	VERBS_SEND_IMMEDIATE,
	VERBS_READ,
	VERBS_COMPARE_SWAP,
	VERBS_FETCH_ADD,
	VERBS_TSO = 10,
	RDMA_RECEIVE = 0x80,
	RDMA_UNKNOWN,
};

/* enum ibv_qp_attr_mask, and enum ibv_qp_state, with which struct ibv_qp_attr begins */
#define VERBS_MODIFY_STATE 1
#define VERBS_STATE_RESET  0
#define VERBS_STATE_INIT   1

#define VERBS_SIGNALED	   2	/* enum ibv_send_flags */
#define VERBS_RECEIVED	   0x80 /* enum ibv_wc_opcode: of receives */

/* struct ibv_wc */
struct verbs_completion {
	__u64 id;
	__u32 status, opcode;
	__u32 vendor_error, bytes;
	__u32 immediate, pair;
	__u32 source_pair, flags;
	__u64 rest;
};
#define VERBS_COMPLETION_WORDS (sizeof(struct verbs_completion) / sizeof(__u64))

/* The most requests of one call, and pieces of memory of one request, that are read. */
#define RDMA_REQUESTS_MAX 24
#define RDMA_PIECES_MAX	  64

/* One of the requests behind a record. */
struct rdma_request {
	__u64 id;
	__u64 bytes;
	__u32 opcode;
	__u32 flags;
};

/* The words behind an RDMA_POST: first these, then struct rdma_request as often as count says. */
struct rdma_posted {
	__u32 pair; /* its number; of a shared queue 0 */
	__u32 is_shared;
	__u32 count;
	__u32 unread; /* requests that follow, or whose memory could not be read */
};
#define RDMA_POST_WORDS(count) \
	((sizeof(struct rdma_posted) + (count) * sizeof(struct rdma_request)) / sizeof(__u64))

/* The most stacks of a second, of all CPUs. */
#define RDMA_STACKS 1000

/* A completion was polled. */
struct rdma_done {
	struct capture_head head;
	struct verbs_completion completion;
	__u32 pid;
	__u32 undecided; /* as in a record's identity */
};

/* Functions of a context (in the order below), or of an extended queue pair (all of them). */
enum {
	RDMA_TABLE_POLL,
	RDMA_TABLE_POST_SHARED,
	RDMA_TABLE_POST_SEND,
	RDMA_TABLE_POST_RECEIVE,
};

struct rdma_table {
	struct capture_head head;
	__u32 pid;
	__u32 undecided; /* as in a record's identity */
	__u32 is_pair;
	__u32 begins; /* the number of a queue pair that nothing was posted to yet; 0: none */
	char comm[16];
	__u64 functions[VERBS_WR_FUNCTIONS];
};

/* A registration has ended; or a region is not registered any more: the key is 0. */
struct rdma_memory {
	struct capture_head head;
	__u64 key;
	__u64 region; /* its address; 0: it was refused */
	__u64 bytes;
	__u32 pid;
	__u32 undecided; /* as in a record's identity */
};

/*
 * How a function that polls is learned. For a while it has probes where it begins and returns, and
 * on each of its branches. The calls of one thread at a time are watched: which branches they came
 * by, in which order, whether the first completion was there by then, and which registers were how
 * far from it. Calls that found nothing only mark their branches; of a few that found something all
 * that is kept. Meanwhile completions are recorded where calls return, of all threads.
 */
#define RDMA_BATCH    65536 /* the most completions of a call: queues have no more */
#define RDMA_SITES    256   /* branches */
#define RDMA_KEPT     8	    /* calls that found something */
#define RDMA_FAR      0x7fff
#define RDMA_DISTANCE 4096 /* registers that are nearer to a completion than this are kept */
#define RDMA_NOBODY   (~0ull)

struct rdma_site {
	__u32 call; /* the number of the call that came by; 0: none */
	__u32 hits; /* in that call */
	__u32 order;
	__u32 unused;
	__u64 completion[VERBS_COMPLETION_WORDS]; /* as it was at the first hit */
	__s16 distance[ARCH_REGISTERS];		  /* RDMA_FAR: far away */
};

/* A call: the one that is watched, or one that is kept. */
struct rdma_poll {
	__u64 at; /* of the first completion */
	__u64 before[VERBS_COMPLETION_WORDS], after[VERBS_COMPLETION_WORDS];
	__u32 found; /* completions */
	__u32 call;
	__u64 registers[ARCH_REGISTERS];
	struct rdma_site sites[RDMA_SITES];
};

struct rdma_learning {
	__u64 owner; /* thread whose call is watched; 0: none; RDMA_NOBODY: none may be */
	__u64 sp;    /* where its return address is */
	__u32 call, order;
	__u32 kept;  /* calls, of which each is in rdma_polls */
	__u32 empty; /* calls that found nothing */
	__u32 is_over;
	__u32 hit_count;
	__u64 all_empty; /* also of other threads, which are not watched */
	__u64 all_found;
	__u32 is_closed; /* completions of calls that begin from now on are not recorded here */
	__u32 unused;
	__u16 hit[RDMA_SITES]; /* the sites that the present call came by */
	__u8 in_empty[RDMA_SITES];
};

#endif
