// SPDX-License-Identifier: Apache-2.0
// The services of a time, as a map and as a table; nothing where none asked another.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { Answers } from '../parts/notice';
import { requestsEvent } from '../state/events';
import { usePage } from '../state/page';
import { servicesText as words } from '../text/services';
import { ofThreads } from '../timeline/lanes';
import type { ServicesAnswer } from './answers';
import { ServiceMap } from './map';
import { Calls } from './table';

export function Services() {
	const { link, go, range, beat, status } = usePage();
	// a service is seen among the others, also the chosen one
	const filters = { ...ofThreads(link.filters), service: '' };
	const asked = useAnswer<ServicesAnswer>('services', askOf(requestsEvent(status), range, filters, {}), beat);
	const { answer } = asked, chosen = link.filters.service;
	const choose = (service: string) => go({ filters: { ...link.filters, service: service === chosen ? '' : service } });

	if (answer && !answer.calls.length)
		return null;
	return <section>
		<h2>{words.name}</h2>
		<Answers asked={[asked]} isSilent={link.isLive}>{answer && <>
			{answer.cut && <p class="warn">{words.cut}</p>}
			<ServiceMap answer={answer} chosen={chosen} onChoose={choose} />
			<Calls answer={answer} chosen={chosen} onChoose={(service) => choose(service || chosen)} />
		</>}</Answers>
	</section>;
}
