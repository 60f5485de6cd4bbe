// SPDX-License-Identifier: Apache-2.0
#include "query/request_figures.h"

#include "base/saturated.h"

bool request_figures_add(struct request_figures *figures, const struct request *request)
{
	uint64_t ns = request->row.duration;
	bool is_open = request->row.flags & FILM_REQUEST_OPEN;

	figures->count++;
	figures->failed += (request->row.flags & FILM_REQUEST_FAILED) != 0;
	figures->open += is_open;
	figures->total = add_saturated(figures->total, ns);
	figures->longest = ns > figures->longest ? ns : figures->longest;
	return is_open || latency_add(&figures->times, ns, 1);
}

uint64_t request_figures_quantile(const struct request_figures *figures, unsigned int of_thousand)
{
	uint64_t ns = latency_quantile(&figures->times, of_thousand);

	return ns < figures->longest ? ns : figures->longest;
}

void request_figures_free(struct request_figures *figures)
{
	latency_free(&figures->times);
	*figures = (struct request_figures){0};
}
