// SPDX-License-Identifier: Apache-2.0
// Deployments, new versions and kept moments: their words, and those of a time.
import type { Mark, MarksAnswer } from '../api/answers';
import { useAnswer } from '../api/use_answer';
import { count, safe } from '../format';
import { usePage } from '../state/page';
import type { Span } from '../state/range';
import { text } from '../text/text';

const BUILD_SHOWN = 8; // digits of a build id
const KEPT = 'kept: '; // how the text of a kept moment begins (src/store/keep.h)

const isBuild = (version: string) => /^[0-9a-f]{16,}$/.test(version);

export const isKept = ({ text: said }: Mark) => said.startsWith(KEPT);

/** What was kept, and why. */
export const reasonOf = ({ text: said }: Mark) => safe(said.slice(KEPT.length));

/** "shop 1.2: faster checkout", "new version a1b2c3d4 of shop", "kept: shop (12): GET / failed" */
export function wordsOf(mark: Mark): string {
	const { service, version, text: said, derived } = mark;
	const short = safe(isBuild(version) ? version.slice(0, BUILD_SHOWN) : version);
	if (derived)
		return text.chart.newVersion(short, safe(service));
	const why = isKept(mark) ? text.chart.keptWords(reasonOf(mark)) : safe(said);
	return [[safe(service), short].filter(Boolean).join(' '), why].filter(Boolean).join(': ');
}

export interface Marks {
	marks: Mark[];
	/** Earlier ones, of which the server sent none: it sends the latest 200. */
	others: number;
}

/** The marks of a time (unix seconds), of the service that is looked at, and of one host or of that which is looked at. */
export function useMarks({ from, to }: Span, ofHost = ''): Marks {
	const { link: { filters: { service, host } } } = usePage();
	const query = new URLSearchParams({ from: String(Math.floor(from)), to: String(Math.ceil(to)) });
	if (service)
		query.set('service', service);
	if (host || ofHost)
		query.set('host', host || ofHost);
	const { answer } = useAnswer<MarksAnswer>('marks', query);
	return { marks: answer?.marks.filter(({ time }) => time >= from && time <= to) ?? [], others: answer?.others ?? 0 };
}

/** Says that there are more marks than are drawn. */
export function MoreMarks({ others }: { others: number }) {
	return others > 0 ? <p class="hint more-marks">{text.chart.moreMarks(count(others))}</p> : null;
}
