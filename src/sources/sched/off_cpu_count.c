// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/off_cpu_count.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <bpf/btf.h>

#include "bpf/probes.skel.h"

/* The place of a member in a struct, in bytes; -1: it has none of that name. */
static int64_t place_of_member(const struct btf *btf, uint32_t id, const char *name)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	const struct btf_member *member;
	int64_t inner;
	int i;

	if (!type || !btf_is_composite(type))
		return -1;
	member = btf_members(type);
	for (i = 0; i < btf_vlen(type); i++, member++) {
		const char *own = btf__name_by_offset(btf, member->name_off);
		uint32_t bits = btf_member_bit_offset(type, (uint32_t)i);

		if (own && !strcmp(own, name))
			return bits / 8;
		/* a struct or a union without a name */
		inner = own && !*own ? place_of_member(btf, member->type, name) : -1;
		if (inner >= 0)
			return bits / 8 + inner;
	}
	return -1;
}

struct found {
	int64_t queues, count; /* -1: not yet */
};

static void look_at(const struct btf *btf, const struct btf_var_secinfo *place, struct found *found)
{
	const struct btf_type *variable = btf__type_by_id(btf, place->type);
	const char *name = variable ? btf__name_by_offset(btf, variable->name_off) : NULL;
	int64_t inner;

	if (!name)
		return;
	if (!strcmp(name, "runqueues"))
		found->queues = place->offset;
	if (!strcmp(name, "__preempt_count"))
		found->count = place->offset;
	/* Linux 6.2 to 6.14 */
	if (!strcmp(name, "pcpu_hot")) {
		inner = place_of_member(btf, variable->type, "preempt_count");
		if (inner >= 0)
			found->count = place->offset + inner;
	}
}

/* -ENOENT: this kernel does not tell. */
static int find_count(const struct btf *btf, int64_t *at)
{
	struct found found = {-1, -1};
	uint32_t id;
	int i;

	if (!btf)
		return -ENOENT;
	/* sections stand behind all types */
	for (id = btf__type_cnt(btf) - 1; id; id--) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const struct btf_var_secinfo *place;

		if (!type || !btf_is_datasec(type))
			break;
		place = btf_var_secinfos(type);
		found = (struct found){-1, -1};
		for (i = 0; i < btf_vlen(type); i++)
			look_at(btf, &place[i], &found);
		if (found.queues >= 0 && found.count >= 0)
			break;
	}
	if (found.queues < 0 || found.count < 0)
		return -ENOENT;
	*at = found.count - found.queues;
	return 0;
}

void off_cpu_count_prepare(struct probes *probes, const struct btf *types)
{
	int64_t at;

	if (find_count(types, &at))
		return;
	probes->rodata->waker_count_at = at;
	probes->rodata->waker_count_known = true;
}

bool off_cpu_has_switch_end(const struct btf *types)
{
	return types &&
	       btf__find_by_name_kind(types, "btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF) > 0;
}
