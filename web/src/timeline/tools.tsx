// SPDX-License-Identifier: Apache-2.0
// Above the lanes: search, order, what is hidden, zoom.
import { count, lengthOfTime } from '../format';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer } from './answers';
import { LANE_ORDERS, type LaneOrder } from './lanes';
import type { Stretch } from './time';
import type { Actions } from './use_actions';
import type { Area, View } from './view';

const STEP = 2; // of a click on closer, further

/** isCut: of slices that are drawn. */
export function Tools({ answer, isCut, view, area, range, actions }: {
	answer: LanesAnswer; isCut: boolean; view: View | null; area: Area | null; range: Stretch; actions: Actions;
}) {
	const { link } = usePage();
	const { order, find, hidden, isWall } = link.timeline;
	const slices = answer.lanes.reduce((sum, lane) => sum + lane.slices.reduce((all, n) => all + n, 0), 0);
	const isWhole = range.to - range.from >= (view ? view.whole.to - view.whole.from : answer.length);
	return <div class="row tl-tools">
		<input type="search" name="t-find" value={find} placeholder={words.find} aria-label={words.find} title={words.findHint} autocomplete="off"
			spellcheck={false} onInput={(event) => actions.find(event.currentTarget.value)}
			onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()} />
		<label class="choice"><span>{words.order}</span>
			<select name="t-order" value={order} onChange={(event) => actions.order(event.currentTarget.value as LaneOrder)}>
				{LANE_ORDERS.map((by) => <option key={by} value={by}>{words.orders[by]}</option>)}
			</select></label>
		<div class="segments" role="group">
			<button type="button" id="closer" title={words.closer} aria-label={words.closer} onClick={() => view?.zoom(1 / STEP, view.width / 2)}>+</button>
			<button type="button" id="further" title={words.further} aria-label={words.further} onClick={() => view?.zoom(STEP, view.width / 2)}>−</button>
			<button type="button" id="fit" title={words.fitHint} onClick={() => view?.jump(view.whole)}>{words.fit}</button>
			<button type="button" id="undo-zoom" title={words.undoHint} onClick={() => view?.back()}>{words.undo}</button>
		</div>
		<div class="segments" role="group">
			<button type="button" id="relative" aria-pressed={!isWall} onClick={() => actions.setWall(false)}>{words.relative}</button>
			<button type="button" id="wall" aria-pressed={isWall} onClick={() => actions.setWall(true)}>{words.wall}</button>
		</div>
		<button type="button" id="visible-states" title={words.area.visibleHint} disabled={!!area}
			onClick={() => view && actions.setArea({ range: view.range, lanes: [] })}>{words.area.visible}</button>
		{hidden.length > 0 && <button type="button" id="show-hidden" onClick={actions.showHidden}>{words.shown(count(hidden.length))}</button>}
		<span class="hint end" id="in-sight">{isWhole ? `${lengthOfTime(answer.length)} · ${words.slices(count(slices))}` :
			words.partOf(lengthOfTime(range.to - range.from), lengthOfTime(answer.length))}</span>
		{(answer.cut || answer.threads > answer.lanes.length) && <span class="warn">{words.cut}</span>}
		{isCut && <span class="warn">{words.slicesCut}</span>}
	</div>;
}
