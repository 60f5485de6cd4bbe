// SPDX-License-Identifier: Apache-2.0
#include "show/explain.h"

#include "query/explain/answer.h"
#include "show/explain_lanes.h"
#include "show/last_scene.h"

enum {
	GROUPS_SHOWN = 12
};

int show_explain_answer(struct explainer *e, const struct explain_answer *answer,
			int (*behind)(void *context, const struct explanation *x), void *context,
			FILE *out, struct fail *why)
{
	int err = 0;

	show_last_scenes(e, &answer->scenes, out);
	show_explain_lanes(e, &answer->lanes, answer, true, out);
	if (answer->groups.all.count)
		show_explain_groups(e, &answer->groups, GROUPS_SHOWN, out);
	for (size_t i = 0; !err && i < answer->count; i++) {
		err = show_explanation(e, &answer->all[i], out);
		if (err)
			fail_errno(why, err, NULL, "cannot explain the film");
		else if (behind)
			err = behind(context, &answer->all[i]);
	}
	show_explain_lanes(e, &answer->lanes, answer, false, out);
	return err;
}
