// SPDX-License-Identifier: Apache-2.0
// What is shown, as a file: of one side, or of a comparison.
import { useState } from 'preact/hooks';
import { save } from '../api/client';
import { safe } from '../format';
import { usePage } from '../state/page';
import { clockOf, dayOf } from '../state/range';
import { text } from '../text/text';
import { useKeys } from './keys';
import { Menu } from './menu';

const ENDINGS = {
	pprof: 'pb.gz', speedscope: 'speedscope.json', folded: 'folded', svg: 'svg', html: 'html', json: 'json', table: 'txt',
};
type Format = keyof typeof ENDINGS;

const FORMATS = Object.keys(ENDINGS) as Format[];

/** "api-2026-11-21-143208.pb.gz": letters that any file system takes */
function fileName(service: string, moment: number, format: Format): string {
	const when = `${dayOf(moment)}-${clockOf(moment).replaceAll(':', '')}`;
	return `${(service || 'stackcam').replace(/[^\w.-]+/g, '_')}-${when}.${ENDINGS[format]}`;
}

/** ask: the question of what is shown, to which the format is added. */
export function ExportMenu({ ask }: { ask: URLSearchParams }) {
	const { link, span } = usePage();
	const [failure, setFailure] = useState('');

	useKeys({ E: () => document.getElementById('export')?.click(),
		e: () => document.getElementById('export')?.click() });
	const send = (format: Format) => {
		const query = new URLSearchParams(ask);
		query.set('format', format);
		setFailure('');
		save('export', query, fileName(link.filters.service, span?.to ?? 0, format))
			.catch((error: Error) => setFailure(text.profile.exportFailed(safe(error.message))));
	};
	return <>
		<Menu name="export" label={text.profile.export} items={FORMATS.map((format) =>
			({ key: format, label: text.profile.formats[format], onPick: () => send(format) }))} />
		{failure && <span class="warn" role="alert">{failure}</span>}
	</>;
}
