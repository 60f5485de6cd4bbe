// SPDX-License-Identifier: Apache-2.0
// In which builds of its image, and in which source lines, a function was: the films know it, the index does not.
import type { PlacesAnswer } from '../api/answers';
import { profileAsk } from '../api/client';
import { useAnswer } from '../api/use_answer';
import type { FunctionName } from '../flame/contract';
import { count, percent, safe } from '../format';
import type { Filters } from '../state/link';
import { usePage } from '../state/page';
import type { Range } from '../state/range';
import { text } from '../text/text';

const LISTED = 6;

interface Props {
	of: FunctionName;
	range: Range;
	filters: Filters;
	/** Which side of a comparison it is; '': there are none. */
	note: string;
	/** Its images should have build ids. */
	isNative: boolean;
	/** Its lines are shown elsewhere. */
	hasLines: boolean;
}

export function Places({ of, range, filters, note, isNative, hasLines }: Props) {
	const { link } = usePage();
	const asked = useAnswer<PlacesAnswer>('places', profileAsk({ ...link, filters }, range,
		{ name: of.name, image: of.image, limit: LISTED }));
	const { answer, error } = asked;
	const words = text.details;

	if (!answer)
		return <p class="hint">{error ? safe(error.message) : text.notice.loading}</p>;
	const unread = answer.sum.films_unread > 0 && <p class="hint">{words.unread(count(answer.sum.films_unread))}</p>;
	if (!answer.total)
		return unread || <p class="hint">{words.unknown}</p>;
	const share = (part: number) => percent(part, answer.total);
	const isOne = answer.builds.length === 1;
	const lines = answer.lines.filter(({ file }) => file);
	return <div id="places">
		<h3>{[note, words.builds].filter(Boolean).join(': ')}</h3>
		<ul>
			{answer.builds.map(({ image, build_id: id, total }) => <li key={`${image} ${id}`}>
				<span class="mono">{safe(image)}</span> {!isOne && <b>{share(total)}</b>}
				{(id || isNative) && <span class="mono hint">{id ? words.buildId(id) : words.noBuildId}</span>}
			</li>)}
		</ul>
		{!hasLines && <>
			<h3>{words.place}</h3>
			{lines.length ? <table class="numbers"><tbody>
				{lines.map(({ file, line, total }) => <tr key={`${file}:${line}`}>
					<td class="text mono">{safe(file)}{line > 0 && `:${line}`}</td><td>{share(total)}</td></tr>)}
			</tbody></table> : <p class="hint">{isNative ? words.noLines : words.unknown}</p>}
		</>}
		{unread}
	</div>;
}
