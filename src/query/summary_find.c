// SPDX-License-Identifier: Apache-2.0
#include "query/summary_find.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "film/events.h"
#include "film/wait_rules.h"
#include "query/request_sums.h"
#include "query/states.h"

enum {
	SLOWEST_LOOKED = 100, /* requests, of which some are seen from their other side */
	STACK_FRAMES = 8,
};

/* Takes the strings, also where it fails. 0 or -ENOMEM: one of them is null, say. */
static int add(struct summary *s, struct summary_finding found)
{
	bool is_wanted = summary_wants(s, found.kind);

	if (!found.detail)
		found.detail = strdup("");
	if (!found.id)
		found.id = strdup("");
	if (is_wanted && found.subject && found.detail && found.id && vec_push(&s->findings, found))
		return 0;
	free(found.subject);
	free(found.detail);
	free(found.id);
	return is_wanted ? -ENOMEM : 0;
}

/*
 * The innermost functions of a flame's stack, "parse < work < main", without kernel functions
 * except the last one. The caller frees the text. Null: no memory.
 */
static char *summary_stack_words(const struct flame *flame, uint32_t node)
{
	const struct flame_node *nodes = flame->nodes;
	struct buf words = {0};
	unsigned int frames = 0;

	for (; node && frames < STACK_FRAMES; node = nodes[node].parent, frames++)
		buf_printf(&words, "%s%s", frames ? " < " : "", nodes[node].name);
	if (node)
		buf_put_text(&words, " < …");
	return buf_steal_text(&words);
}

/* The innermost function that is not of the kernel of each node, and what was spent there. */
static uint64_t *weigh_stacks(const struct flame *flame)
{
	uint64_t *weights = calloc(flame->count + 1ull, sizeof(*weights));
	uint32_t *users = calloc(flame->count + 1ull, sizeof(*users));

	for (uint32_t i = 0; weights && users && i < flame->count; i++) {
		const struct flame_node *node = &flame->nodes[i];

		/* a thread of the kernel has nothing else */
		users[i] = node->kind == FILM_FRAME_KERNEL && users[node->parent]
				   ? users[node->parent]
				   : i;
		weights[users[i]] += node->self;
	}
	if (!users) {
		free(weights);
		weights = NULL;
	}
	free(users);
	return weights;
}

static int find_heaviest(struct summary *s, uint32_t event, const struct report *report,
			 enum summary_kind kind, size_t most)
{
	uint64_t *weights = weigh_stacks(&report->flame);
	int err = weights ? 0 : -ENOMEM;

	for (size_t found = 0; !err && found < most; found++) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < report->flame.count; i++)
			if (weights[i] > weights[best] || (!best && weights[i]))
				best = i;
		if (!best)
			break;
		err = add(s, (struct summary_finding){
				     .kind = kind,
				     .event = event,
				     .subject = summary_stack_words(&report->flame, best),
				     .value = weights[best],
				     .whole = report->view.total,
			     });
		weights[best] = 0;
	}
	free(weights);
	return err;
}

static int find_functions(struct summary *s, uint32_t event, const struct report *report,
			  enum summary_kind kind)
{
	bool is_of_calls = kind == SUMMARY_CALLED;
	size_t most = s->wanted.most;
	const struct function **first = functions_first(
		&report->functions, is_of_calls ? FUNCTIONS_BY_TOTAL : FUNCTIONS_BY_SELF, &most);
	int err = first ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < most; i++) {
		const struct function *f = first[i];
		const struct call_stats *calls = f->calls[TREE_NOW];
		uint64_t value = is_of_calls ? f->total[TREE_NOW] : f->self[TREE_NOW];

		if (!value || (is_of_calls && !calls))
			continue;
		err = add(s, (struct summary_finding){
				     .kind = kind,
				     .event = event,
				     .subject = strdup(f->label->name),
				     .detail = strdup(f->label->image),
				     .value = value,
				     .whole = report->view.total,
				     .count = is_of_calls ? calls->calls : 0,
				     .longest = is_of_calls && calls->measured ? calls->max : 0,
			     });
	}
	free(first);
	return err;
}

/* Where stacks say more than functions do. */
static size_t stacks_most(const struct summary *s)
{
	return (s->wanted.most + 1) / 2;
}

int summary_find_stacks(struct summary *s, uint32_t event, const struct report *report)
{
	const struct event_type *type = event_of(&s->film->events[event]);
	int err;

	if (report->view.calls)
		return find_functions(s, event, report, SUMMARY_CALLED);
	if (type == event_type(EVENT_DEATHS))
		return find_heaviest(s, event, report, SUMMARY_DEATH, s->wanted.most);
	/* the innermost function is the scheduler's, or the allocator's: it says nothing */
	if (type->is_interval || type->quantity == EVENT_BYTES)
		return find_heaviest(s, event, report,
				     type->is_interval ? SUMMARY_WAITING : SUMMARY_STACK,
				     stacks_most(s));
	err = find_functions(s, event, report, SUMMARY_FUNCTION);
	return err ? err : find_heaviest(s, event, report, SUMMARY_STACK, 1);
}

int summary_find_growth(struct summary *s, const struct question *q,
			const struct summary_event *row, struct fail *why)
{
	uint64_t to = row->peak > s->from ? row->peak : s->to;
	struct question asked = *q;
	struct report report;
	int err;

	asked.filter.leaks = 0;
	asked.filter.grown = (to - s->from) / 2;
	if (!asked.filter.grown)
		return 0;
	err = report_make(s->film, &asked, false, &report, why);
	if (!err && find_heaviest(s, row->event, &report, SUMMARY_GROWTH, stacks_most(s)))
		err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	report_free(&report);
	return err;
}

static int find_group(struct summary *s, uint32_t event, enum summary_kind kind,
		      const struct report *report, const struct group *group)
{
	const struct label *label = kind == SUMMARY_LOCK ? group->lock : group->wait;

	if (!label || !group->total)
		return 0;
	return add(s, (struct summary_finding){
			      .kind = kind,
			      .event = event,
			      .subject = strdup(label->name),
			      .detail = group->holders ? strdup(group->holders) : NULL,
			      .value = group->total,
			      .whole = report->view.total,
			      .count = group->waits,
			      .longest = group->longest,
		      });
}

int summary_find_groups(struct summary *s, const struct question *q, uint32_t event,
			enum summary_kind kind, struct fail *why)
{
	struct question asked = *q;
	struct report report;
	int err;

	asked.shape =
		(struct shape){.by_lock = kind == SUMMARY_LOCK, .by_wait = kind == SUMMARY_WAIT};
	err = report_make(s->film, &asked, false, &report, why);
	for (size_t i = 0; !err && i < report.groups.count && i < s->wanted.most; i++)
		if (find_group(s, event, kind, &report, &report.groups.at[i]))
			err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	report_free(&report);
	return err;
}

/* -- threads ----------------------------------------------------------------------------------- */

static int find_all_states(struct summary *s, uint32_t event, const struct states *states)
{
	unsigned int found = 0;
	int err = 0;

	for (size_t i = 0; !err && found < s->wanted.most && i < states->all.states.count; i++) {
		const struct state *state = &states->all.states.at[i];
		char words[64];

		if (slice_is_wait(state->kind) && wait_class_is_idle(slice_wait_class(state->kind)))
			continue;
		found++;
		state_words(s->film, state, words, sizeof(words));
		err = add(s, (struct summary_finding){
				     .kind = SUMMARY_STATE,
				     .event = event,
				     .subject = strdup(words),
				     .value = state->total,
				     .whole = states->all.life,
				     .count = state->times.count,
				     .longest = state->longest,
				     .median = state_quantile(state, 500),
				     .p99 = state_quantile(state, 990),
			     });
	}
	return err;
}

/* "worker (12), held by flusher (13)": whose wait it was, and who had what it waited for. */
static char *object_detail(const struct states *states, const struct state_object *object)
{
	const struct film *film = states->film;
	const struct film_process *process = &film->processes[object->process];
	struct buf words = {0};

	buf_printf(&words, "%s (%u)", process->comm, process->pid);
	if (object->held) {
		const struct state_holder *holder = &states->objects.holders.at[object->held - 1];
		const struct film_thread *thread = &film->threads[holder->thread];

		buf_printf(&words, ", held by %s (%u)", thread->comm, thread->tid);
	}
	return buf_steal_text(&words);
}

/* Whether a wait for something tells why its thread was slow: not one for work or for a child. */
static bool explains_wait(const struct state_object *object)
{
	enum wait_class class = slice_wait_class(object->like.kind);

	if (object->held)
		return true;
	if (class == WAIT_LOCK)
		return object->evidence.lock.address || !slice_is_for_condition(&object->like);
	return !wait_class_is_idle(class) && class != WAIT_CHILD && class != WAIT_SLEEP &&
	       class != WAIT_POLL;
}

static int find_objects(struct summary *s, uint32_t event, const struct states *states)
{
	char name[4096], state[64], subject[4096 + 80];
	unsigned int found = 0;
	int err = 0;

	for (size_t i = 0; !err && found < s->wanted.most && i < states->objects.all.count; i++) {
		const struct state_object *object = &states->objects.all.at[i];

		if (slice_object(s->film, &object->like, &object->evidence, name, sizeof(name)) !=
			    OBJECT_KNOWN ||
		    !explains_wait(object))
			continue;
		state_words_of(s->film, object, state, sizeof(state));
		snprintf(subject, sizeof(subject), "%s: %s", state, name);
		err = add(s, (struct summary_finding){
				     .kind = SUMMARY_OBJECT,
				     .event = event,
				     .subject = strdup(subject),
				     .detail = object_detail(states, object),
				     .value = object->total,
				     .count = object->count,
				     .longest = object->longest,
			     });
		found++;
	}
	return err;
}

int summary_find_states(struct summary *s, const struct question *q, struct summary_event *row,
			struct fail *why)
{
	struct states states;
	int err = states_make(s->film, row->event, &q->filter, &states, why);

	if (!err) {
		row->samples = states.slices;
		row->total = states.all.life;
		row->has_total = true;
		if (find_all_states(s, row->event, &states) || find_objects(s, row->event, &states))
			err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	}
	states_free(&states);
	return err;
}

/* -- requests ---------------------------------------------------------------------------------- */

static int slowest_first(const void *a, const void *b)
{
	const struct request_sum *x = *(const struct request_sum *const *)a,
				 *y = *(const struct request_sum *const *)b;
	uint64_t slow = request_figures_quantile(&x->all, 990),
		 other = request_figures_quantile(&y->all, 990);

	if (slow != other)
		return slow > other ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int find_endpoint(struct summary *s, uint32_t event, const struct request_sums *sums,
			 const struct request_sum *sum)
{
	const struct request_figures *all = &sum->all;
	struct buf who = {0};

	buf_printf(&who, "%s by %s", request_role_name(&sum->example),
		   request_sum_program(sums, sum));
	return add(s, (struct summary_finding){
			      .kind = SUMMARY_ENDPOINT,
			      .event = event,
			      .subject = strdup(sum->example.endpoint),
			      .detail = buf_steal_text(&who),
			      .value = all->total,
			      .count = all->count,
			      .longest = all->longest,
			      .median = request_figures_quantile(all, 500),
			      .p99 = request_figures_quantile(all, 990),
			      .failed = all->failed,
		      });
}

static int find_endpoints(struct summary *s, uint32_t event, const struct request_sums *sums,
			  unsigned int role)
{
	const struct request_sum **all = calloc(sums->endpoints.count + 1, sizeof(*all));
	size_t count = 0;
	int err = all ? 0 : -ENOMEM;

	vec_foreach (&sums->endpoints, sum)
		if (all && sum->example.row.role == role)
			all[count++] = sum;
	if (count)
		qsort(all, count, sizeof(*all), slowest_first);
	for (size_t i = 0; !err && i < count && i < s->wanted.most; i++)
		err = find_endpoint(s, event, sums, all[i]);
	free(all);
	return err;
}

static int find_request(struct summary *s, uint32_t event, const struct request *request)
{
	const struct film_thread *thread = &s->film->threads[request->row.thread];
	char name[REQUEST_NAME_MAX];
	struct buf who = {0};

	request_name(request, name);
	buf_printf(&who, "%s by %s (%u)", request_role_name(request), thread->comm, thread->tid);
	return add(s, (struct summary_finding){
			      .kind = SUMMARY_REQUEST,
			      .event = event,
			      .subject = strdup(*request->path ? request->path : request->endpoint),
			      .detail = buf_steal_text(&who),
			      .id = strdup(name),
			      .value = request->row.duration,
		      });
}

static unsigned int role_shown(const struct request_sums *sums)
{
	vec_foreach (&sums->endpoints, sum)
		if (sum->example.row.role == FILM_REQUEST_SERVED)
			return FILM_REQUEST_SERVED;
	return FILM_REQUEST_MADE;
}

int summary_find_requests(struct summary *s, const struct question *q, struct summary_event *row,
			  struct fail *why)
{
	struct request_sums sums;
	int err = request_sums_make(s->film, &q->filter, SLOWEST_LOOKED, &sums, why);
	/* one that a filmed program made of another one is there twice */
	unsigned int role = err ? 0 : role_shown(&sums), found = 0;

	if (!err) {
		row->samples = sums.count;
		if (find_endpoints(s, row->event, &sums, role))
			err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	}
	for (size_t i = 0; !err && found < s->wanted.most && i < sums.slowest.count; i++) {
		const struct request *request = &sums.slowest.at[i];

		if (request->row.role != role)
			continue;
		found++;
		if (find_request(s, row->event, request))
			err = fail_errno(why, -ENOMEM, NULL, "cannot sum up the film");
	}
	request_sums_free(&sums);
	return err;
}
