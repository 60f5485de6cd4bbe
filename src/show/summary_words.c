// SPDX-License-Identifier: Apache-2.0
#include "show/summary.h"

static const struct summary_words all[SUMMARY_KINDS] = {
	[SUMMARY_FUNCTION] = {"function", "hottest function",
			      "stackcam report -e %s --callers FUNCTION",
			      "functions, callers_and_callees"},
	[SUMMARY_STACK] = {"stack", "heaviest stack", "stackcam report -e %s --format tree",
			   "callers_and_callees"},
	[SUMMARY_WAITING] = {"waiting_stack", "waited longest",
			     "stackcam report -e %s --by wait --format tree", "waits_and_locks"},
	[SUMMARY_GROWTH] = {"growth", "growing memory",
			    "stackcam report -e %s --grown TIME --format tree",
			    "functions with grown"},
	[SUMMARY_CALLED] = {"called", "costly function", "stackcam report -e %s --columns all",
			    "functions"},
	[SUMMARY_WAIT] = {"wait", "longest waits", "stackcam report -e %s --by wait,waker",
			  "waits_and_locks"},
	[SUMMARY_LOCK] = {"lock", "contended lock", "stackcam report -e %s --by lock,holder",
			  "waits_and_locks"},
	[SUMMARY_STATE] = {"state", "threads were", "stackcam report -e %s --format states",
			   "waits_and_locks"},
	[SUMMARY_OBJECT] = {"object", "waited for", "stackcam explain", "explain"},
	[SUMMARY_ENDPOINT] = {"endpoint", "slowest endpoint",
			      "stackcam report -e %s --format requests", "slow_requests"},
	[SUMMARY_REQUEST] = {"request", "slowest request", "stackcam explain --request ID",
			     "explain with request=ID"},
	[SUMMARY_DEATH] = {"death", "died of a signal", "stackcam report -e %s --format tree",
			   "callers_and_callees"},
};

const struct summary_words *summary_words(enum summary_kind kind)
{
	return &all[kind];
}
