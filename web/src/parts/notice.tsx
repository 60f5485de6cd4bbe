// SPDX-License-Identifier: Apache-2.0
// What stands in place of an answer, or above it: never a blank page.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Asked } from '../api/use_answer';
import { safe } from '../format';
import { usePage } from '../state/page';
import { text } from '../text/text';

const NO_TOKEN = 401, UNREACHABLE = 0; // of a failure

export function Notice({ title, children, isError }: {
	title: string; children?: ComponentChildren; isError?: boolean;
}) {
	return <div class={isError ? 'notice error' : 'notice'} role={isError ? 'alert' : 'status'}>
		<strong>{title}</strong>
		{children}
	</div>;
}

function Failure({ asked }: { asked: Asked<unknown> }) {
	const { error } = asked;
	if (!error)
		return null;
	const titles: Record<number, string> = {
		[NO_TOKEN]: text.token.title, [UNREACHABLE]: text.notice.unreachable, 503: text.notice.busy, [-1]: text.notice.broken,
	};
	const title = titles[error.status] ?? text.notice.failed;
	return <Notice title={title} isError>
		{error.status !== NO_TOKEN && <span class="why">{safe(error.message) || text.notice.unreachableHint}</span>}
		<button type="button" onClick={asked.again}>{text.notice.again}</button>
	</Notice>;
}

const SLOW = 4000; // ms

/** A line that runs while something is asked; in words, if it takes long. */
function Progress({ isLoading, isFirst }: { isLoading: boolean; isFirst: boolean }) {
	const [isSlow, setSlow] = useState(false);
	useEffect(() => {
		setSlow(false);
		const timer = isLoading ? setTimeout(setSlow, SLOW, true) : undefined;
		return () => clearTimeout(timer);
	}, [isLoading]);
	if (!isLoading)
		return null;
	return <>
		<div class="progress" role="progressbar" aria-label={text.notice.loading} />
		{isSlow ? <Notice title={text.notice.slow} /> : isFirst && <Notice title={text.notice.loading} />}
	</>;
}

/**
 * Several answers as one: what fails is said above, what was answered stays on the page. isOfPage: of all views; that the
 * server does not answer is said there alone, once it knows.
 */
export function Answers({ asked, isSilent, isOfPage, children }: {
	asked: Asked<unknown>[]; isSilent?: boolean; isOfPage?: boolean; children: ComponentChildren;
}) {
	const { isUnreachable } = usePage();
	const isLoading = asked.some((one) => one.isLoading);
	const isFirst = asked.some((one) => one.isLoading && !one.answer);
	const isOld = asked.some((one) => one.isOld);
	const failed = asked.find(({ error }) => error && (isOfPage || !(isUnreachable && error.status === UNREACHABLE)));
	// what is drawn is of the question before, under the words of this one; where there will be no answer, it is what there is
	return <div class={isOld && isLoading ? 'answers old' : 'answers'} aria-busy={isLoading}>
		{(!isSilent || isFirst || isOld) && <Progress isLoading={isLoading} isFirst={isFirst} />}
		{failed && <Failure asked={failed} />}
		{children}
	</div>;
}
