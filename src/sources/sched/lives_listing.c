// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/lives_listing.h"

void lives_listing_emit(struct lives_listing *listing, struct lives *lives, uint64_t until)
{
	while (listing->next < listing->all.count && listing->all.at[listing->next].time <= until)
		lives_list(lives, &listing->all.at[listing->next++]);
	if (listing->next < listing->all.count || !listing->begun || listing->begun > until)
		return;
	lives_list_done(lives, listing->begun);
	listing->all.count = listing->next = 0;
	listing->begun = 0;
}

void lives_listing_emit_late(struct lives_listing *listing, struct lives *lives)
{
	while (listing->next < listing->all.count)
		lives_list_late(lives, &listing->all.at[listing->next++]);
}
