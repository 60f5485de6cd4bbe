// SPDX-License-Identifier: Apache-2.0
// What recording costs, what was lost, what the store takes: at the foot of every view.
import type { Status } from '../api/answers';
import { count, formatOf, percent, safe } from '../format';
import { clockOf, dayOf } from '../state/range';
import { text } from '../text/text';

const bytes = formatOf('bytes');

export function Cost({ status }: { status: Status }) {
	const { recorder, process, store } = status;
	const words = text.status;

	return <footer class="cost">
		<span><b class={status.filming ? 'on' : ''}>
			{status.one_film ? words.film : status.filming ? words.filming(safe(status.host)) : words.notFilming}</b></span>
		{recorder && <span id="recorder">{words.costs}: <b>{words.cpu(percent(recorder.cpu, 1))}</b>
			{' '}<span title={words.bpfHint}>({recorder.cpu_bpf === null ? words.noBpf : words.bpf(percent(recorder.cpu_bpf, 1))})</span>
			, {words.memory(bytes(process.rss_bytes))}, {words.frequency(count(recorder.frequency))}</span>}
		{recorder && <span id="recorded">{words.since(`${dayOf(status.started)} ${clockOf(status.started, false)}`)}: {' '}
			{words.recorded(count(recorder.samples))}, {' '}
			<b class={recorder.lost ? 'warn' : ''}>{recorder.lost ? words.lost(count(recorder.lost)) :
				text.profile.nothingLost}</b></span>}
		{!status.one_film && <span>{words.store(count(store.films), bytes(store.bytes))}</span>}
		{store.full && <b class="warn" role="alert">{words.full}</b>}
		{store.set_aside > 0 && <b class="warn">{words.setAside(count(store.set_aside))}</b>}
		<span class="version">{words.version(safe(status.version))}</span>
	</footer>;
}
