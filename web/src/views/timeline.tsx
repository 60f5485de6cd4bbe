// SPDX-License-Identifier: Apache-2.0
// What every thread did, every moment: the threads of the time that was picked, and the board that draws them.
import { askOf } from '../api/client';
import { useAnswer } from '../api/use_answer';
import { AskBar } from '../parts/ask_bar';
import { Answers, Notice } from '../parts/notice';
import { slicesEvent } from '../state/events';
import { usePage } from '../state/page';
import { timelineText as words } from '../text/timeline';
import type { LanesAnswer } from '../timeline/answers';
import { Board } from '../timeline/board';
import '../timeline/timeline.css';

const LANES = 5000;
const STEPS = 600;

export function Timeline() {
	const { link, range, beat, status } = usePage();
	const lanes = useAnswer<LanesAnswer>('timeline/lanes',
		askOf(slicesEvent(status), range, link.filters, { limit: LANES, steps: STEPS }), beat);
	const { answer } = lanes;

	return <main id="content" class="timeline">
		<h2 class="unseen">{words.name}</h2>
		<AskBar />
		<Answers asked={[lanes]} isSilent={link.isLive}>
			{answer && (answer.lanes.length > 0 ? <Board key={`${answer.base} ${answer.length}`} answer={answer} /> :
				<Notice title={words.empty}><span>{words.emptyHint}</span></Notice>)}
		</Answers>
	</main>;
}
