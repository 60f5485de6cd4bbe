// SPDX-License-Identifier: Apache-2.0
/*
 * trace --args: what functions return. A plan says what is to be read where a call ends, as at a
 * "ret" of inspect's own, but has no probe: the tracer runs it where it sees the return
 * (bpf/calls/results.h). Functions whose results are read alike share one.
 */
#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "sources/inspect/state.h"

static const struct inspect_kept *kept_at(const struct inspect *inspect, uint32_t function)
{
	static const struct inspect_kept nothing;

	return function < inspect->kept.count ? &inspect->kept.at[function] : &nothing;
}

bool inspect_has(const struct inspect *inspect, uint32_t function)
{
	return kept_at(inspect, function)->arguments;
}

bool inspect_wants_results(const struct inspect *inspect, uint32_t function)
{
	return kept_at(inspect, function)->results;
}

/* VALUE_REGISTER_RESULT must be known where the call begins. */
static bool needs_result_at(const struct inspect_function *f)
{
	for (uint32_t i = 0; i < f->value.params; i++)
		if (f->params[i].is_result && f->params[i].place == VALUE_AT_POINTER &&
		    f->params[i].reg == VALUE_REGISTER_RESULT)
			return true;
	return false;
}

bool inspect_is_worth(struct inspect *inspect, const struct inspect_function *f)
{
	if (!f->value.is_known || inspect->plans.count == INSPECT_PLANS_MAX) {
		inspect->statistics.without += !f->value.is_known || f->value.params > 0;
		return false;
	}
	for (uint32_t i = 0; i < f->value.params; i++)
		if (!f->params[i].is_result)
			return true;
	return needs_result_at(f);
}

static bool is_placed(const struct value_param *result)
{
	return result->place == VALUE_REGISTERS || result->place == VALUE_MEMORY ||
	       result->place == VALUE_AT_POINTER;
}

/* The number of such a plan, + 1; 0: there are too many. A negative errno: -ENOMEM. */
static int64_t plan_like(struct inspect *inspect, const struct inspect_plan *plan)
{
	uint64_t hash = hash_bytes(plan, sizeof(*plan));
	const uint64_t *known = map_get(&inspect->result_plans, hash);

	if (known && !memcmp(&inspect->plans.at[*known - 1], plan, sizeof(*plan)))
		return (int64_t)*known;
	if (inspect->plans.count >= INSPECT_PLANS_MAX)
		return 0;
	/* which function it is of, and where that lies, the record says */
	if (!inspect_add_plan(inspect, plan, 0, 0) ||
	    !map_put(&inspect->result_plans, hash, inspect->plans.count))
		return -ENOMEM;
	return (int64_t)inspect->plans.count;
}

static int plan_results(struct inspect *inspect, const struct inspect_image *image,
			const struct inspect_function *f, struct inspect_kept *kept)
{
	struct inspect_plan plan = {
		.site = INSPECT_SITE_RET,
		.is_go = f->probe->is_go,
		.cfa_register = ARCH_REG_SP,
		.cfa_offset = 8,
		.goid_at = image->goid_at,
		.needs_result_at = needs_result_at(f),
	};
	struct inspect_builder builder = {&image->values, inspect->options.limits,
					  &inspect->options.redaction, &plan};
	int64_t number;

	inspect_add_params(&builder, f->params, f->value.params, true);
	number = plan_like(inspect, &plan);
	if (number < 0)
		return (int)number;
	inspect->statistics.without += !number;
	kept->results = (uint32_t)number;
	return 0;
}

int inspect_keep(struct inspect *inspect, const struct inspect_image *image, uint32_t function,
		 bool arguments)
{
	const struct inspect_function *f = &inspect->functions.at[function];
	struct inspect_kept kept = {.function = function + 1, .arguments = arguments};
	bool any = false, placed = false;
	int err = 0;

	while (inspect->kept.count <= f->in_plan)
		if (!vec_push(&inspect->kept, (struct inspect_kept){0}))
			return -ENOMEM;
	for (uint32_t i = 0; i < f->value.params; i++) {
		any |= f->params[i].is_result;
		placed |= f->params[i].is_result && is_placed(&f->params[i]);
	}
	kept.only_said = any && !placed;
	if (placed && f->probe->exit != PROBE_EXIT_INFERRED)
		err = plan_results(inspect, image, f, &kept);
	inspect->kept.at[f->in_plan] = kept;
	return err;
}

void inspect_decode_results(const struct inspect *inspect, uint32_t function,
			    const struct inspect_record *record, struct shown_tree *tree)
{
	static const uint8_t no_registers[INSPECT_REGISTER_BYTES];
	static const struct inspect_plan no_plan;
	const struct inspect_kept *kept = kept_at(inspect, function);
	const struct inspect_function *f;
	struct inspect_names names;
	struct inspect_contents taken = {
		.plan = &no_plan,
		.limits = &inspect->options.limits,
		.redaction = &inspect->options.redaction,
		.bytes = no_registers,
		.size = sizeof(no_registers),
	};

	if (!kept->function || (!kept->only_said && (!record || record->plan + 1 != kept->results)))
		return;
	f = &inspect->functions.at[kept->function - 1];
	taken.values = &inspect->images.at[f->image].values;
	if (!kept->only_said) {
		names = inspect_names_of(inspect, f->image,
					 record->ip - (f->probe->address + f->probe->slide));
		taken.called = names.called ? inspect_called_name : NULL;
		taken.names = &names;
		taken.plan = &inspect->plans.at[record->plan];
		taken.bytes = (const uint8_t *)(record + 1);
		taken.size = record->head.size - (uint32_t)sizeof(*record);
		taken.bias = names.bias;
		taken.is_left = record->end == INSPECT_LEAVES;
	}
	inspect_decode(&taken, f->params, f->value.params, true, tree);
}
