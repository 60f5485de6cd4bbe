// SPDX-License-Identifier: Apache-2.0
// What else this machine's recorder could film: a button for each, which shows the command.
import { useState } from 'preact/hooks';
import type { Status } from '../api/answers';
import { usePage } from '../state/page';
import { text } from '../text/text';
import { copyText } from './copy';

type Kind = keyof typeof text.more.kinds;

const USUAL = ['on-cpu', 'mem-grow']; // what is filmed without -e

/** Those that nothing has filmed yet. */
function kindsOf(status: Status): Kind[] {
	const has = (name: string) => status.events.includes(name);
	return [...(has('off-cpu') ? [] : ['waits' as const]), ...(has('requests') ? [] : ['requests' as const]),
		...(status.camera ? [] : ['camera' as const])];
}

/** The events that are filmed stay, without those that only the flight recorder films. */
function commandOf(kind: Kind, { events, event_types: types }: Status): string {
	const kept = types.filter(({ calls, slices }) => !calls && !slices).map(({ name }) => name).filter((name) => name !== 'deaths');
	const more = { waits: ['off-cpu', 'lock'], requests: ['off-cpu', 'requests'], camera: [] }[kind];
	const wanted = [...new Set([...(events.length ? kept : USUAL), ...more])], isUsual = wanted.join() === USUAL.join();
	return `stackcam serve${isUsual ? '' : ` -e ${wanted.join(',')}`}${kind === 'camera' ? " --camera 'NAME'" : ''}`;
}

export function MoreKinds() {
	const { status } = usePage(), [shown, show] = useState<Kind | ''>(''), [said, say] = useState('');
	const kinds = status?.filming ? kindsOf(status) : [];
	if (!status || !kinds.length)
		return null;
	const command = shown && commandOf(shown, status);
	return <section class="more-kinds" id="more-kinds" aria-label={text.more.title}>
		<div class="row"><h3>{text.more.title}</h3>
			{kinds.map((kind) => <button type="button" key={kind} id={`more-${kind}`} aria-expanded={shown === kind} onClick={() => {
				show(shown === kind ? '' : kind);
				say('');
			}}>{text.more.kinds[kind]}</button>)}</div>
		{shown && <p class="row"><span>{text.more.about[shown]} {text.more.restart}</span> <code>{command}</code>
			<button type="button" class="quiet" id="copy-command" onClick={async () => say(await copyText(command) ? text.top.copied : text.top.notCopied)}>
				{said || text.more.copy}</button></p>}
	</section>;
}
