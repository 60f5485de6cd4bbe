/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SHOW_EXPLAIN_H
#define SHOW_EXPLAIN_H

#include <stdio.h>

#include "base/buf.h"
#include "base/json.h"
#include "query/explain/explain.h"
#include "query/explain/answer.h"
#include "query/explain/disk.h"
#include "query/explain/gpu.h"

/* Explanations as sentences and as JSON, harmless. */

/*
 * What a part is, "waiting for mutex 0x7f10 held by flusher (12)", appended to words without its
 * time; it may hold any bytes that the film has.
 */
void explain_part_words(struct explainer *e, const struct explain_part *part, struct buf *words);

/* Of explain_part_words(): "14 ms"; which functions ran; that the kernel freed memory; what ran
   while a thread was ready. */
void explain_put_ns(struct buf *words, uint64_t ns);
void explain_function_words(struct explainer *e, const struct explain_part *part,
			    struct buf *words);
void explain_reclaim_words(struct explainer *e, const struct explain_part *part, struct buf *words);
void explain_ready_words(const struct explainer *e, const struct explain_part *part,
			 const struct slice *slice, struct buf *words);

/* How that is known, appended to words. */
void explain_evidence_words(struct explainer *e, const struct explain_part *part,
			    struct buf *words);

/*
 * The process at the other end of a connection that was waited for, where no thread is followed to
 * have ended that; 0: not known.
 */
uint32_t explain_peer(const struct explainer *e, const struct explain_part *part);

/*
 * Appends what a device ran while a part waited for it, "waiting for kernel gemm on stream 5 (4.1
 * of 4.3 ms)". Returns false, and appends nothing, where the film does not know that.
 */
bool explain_put_works(const struct explainer *e, const struct explain_part *part,
		       struct buf *words);

/* What was waited for, "mutex guard in app"; appended to words, nothing where it is not known. */
void explain_object_words(const struct explainer *e, const struct explain_part *part,
			  struct buf *words);

/* The name of a system call as a person knows it, "no system call" for none. */
const char *explain_call(const struct explainer *e, const struct slice *slice);

/*
 * Of a part in which the kernel freed memory for a control group: its limit, or that of one above
 * it; null: it is of none, or that is not known.
 */
const struct explain_limit *explain_reclaim_limit(const struct explainer *e,
						  const struct explain_part *part);

/* The disk that a part was a wait for; "": it was for none, or that is not known. */
const char *explain_disk(const struct explainer *e, const struct explain_part *part);

/* "fsync of /var/lib/wal", what such a thread waited for; nothing where it is not known. */
void explain_disk_user_words(const struct explainer *e, const struct explain_disk_user *user,
			     struct buf *words);

/* "flusher (12)", and " of app" where its process is not that of the thread beside (0: none). */
void explain_thread_words(const struct explainer *e, uint32_t thread, uint32_t beside,
			  struct buf *words);

/* Whether a part says that something is not known; and how long all such parts are. */
bool explain_is_unexplained(const struct explain_part *part);
uint64_t explain_unexplained(const struct explanation *x);

/*
 * The longest part. Of a wait for the answer of a service of which the film has what that one
 * spent, the parts of that count, and so on. That a thread had no work is none, unless it is
 * explained for a request. Null: there is none.
 */
const struct explain_part *explain_cause(const struct explanation *x);

/* ns that it had no work; 0 of a request. */
uint64_t explain_without_work(const struct explanation *x);

/*
 * ns of that in which it may have waited for answers: what ended the longest of these waits came on
 * connections that it seems to have opened. 0 if the film has requests: then they are known.
 */
uint64_t explain_perhaps_answers(const struct explainer *e, const struct explanation *x);

/* Whether more threads would help, "no", "yes" or "unknown", and why: never null. */
struct explain_advice {
	const char *more_threads;
	char why[128];
};
struct explain_advice explain_advise(const struct explainer *e, const struct explanation *x);

/*
 * What the slowest hundredth of the requests of an endpoint have more of, on average, than those in
 * the middle. ns 0: nothing, or the endpoint has too few requests.
 */
struct explain_difference {
	uint64_t requests, slow_count,
		usual_count;  /* of the endpoint; of those that were explained */
	uint64_t slow, usual; /* ns: what they took on average */
	int64_t ns;	      /* the most that one kind of part differs by, */
	char words[512];      /* and which one, "lock mutex guard in app", */
	uint32_t process;     /* and of which service that was asked; 0: of the endpoint's own */
};

/* request: one of that endpoint, and of its service. 0 or -ENOMEM. */
int explain_compare(struct explainer *e, const struct request *request,
		    struct explain_difference *d);

/* The kind of a part in JSON. */
const char *explain_kind(const struct explainer *e, const struct explain_part *part);

/* HotSpot's thread that stops the others, to collect garbage say, wakes them behind that. */
bool explain_is_safepoint(const struct explainer *e, const struct explain_part *part);

/* The slice that a part begins with; null: it has none. */
static inline const struct slice *explain_part_slice(const struct explainer *e,
						     const struct explain_part *part)
{
	return part->slice == HISTORY_NONE ? NULL : &e->histories.slices[part->slice];
}

/* A kind as explain_kind() calls it, for a sentence: "time ready but not running". */
const char *explain_kind_words(const char *kind);

/*
 * The parts of an explanation, each indented by depth and its own place in the tree. 0 or -ENOMEM.
 */
int show_explain_parts(struct explainer *e, const struct explanation *x, unsigned int depth,
		       FILE *out);
/* The same as "parts", into an object that is open. */
int show_explain_parts_json(struct json *j, struct explainer *e, const struct explanation *x);

/*
 * Why devices idled. e: as for explain_gpu_make(). 0, or a negative errno with *why filled.
 */
int show_explain_gpu(const struct explain_gpu *gpu, const struct film *film, struct explainer *e,
		     FILE *out, struct fail *why);
int show_explain_gpu_json(const struct explain_gpu *gpu, const struct film *film,
			  struct explainer *e, FILE *out, struct fail *why);
/*
 * One sentence on a device: how long it was idle, and the most important reason, appended to words;
 * it may hold any bytes that the film has.
 */
void explain_gpu_sentence(const struct explain_gpu *gpu, const struct explain_gpu_device *device,
			  const struct film *film, struct explainer *e, struct buf *words);

/* 0 or -ENOMEM. */
int show_explanation(struct explainer *e, const struct explanation *x, FILE *out);
void show_explain_groups(const struct explainer *e, const struct explain_groups *groups,
			 size_t limit, FILE *out);
/*
 * A whole answer: processes that died, groups of threads, and each explanation, behind which
 * behind() is called (null: nothing is), whose value other than 0 ends it and is returned. 0 or a
 * negative errno with *why filled.
 */
int show_explain_answer(struct explainer *e, const struct explain_answer *answer,
			int (*behind)(void *context, const struct explanation *x), void *context,
			FILE *out, struct fail *why);
int show_explanations_json(struct explainer *e, const struct explain_answer *answer, FILE *out);

#endif
