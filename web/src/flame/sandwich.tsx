// SPDX-License-Identifier: Apache-2.0
// One function with all of its callers above and all of its callees below.
import { useMemo, useState } from 'preact/hooks';
import { formatOf, percent, safe } from '../format';
import { flameText as words } from '../text/flame';
import { Colours } from './colours';
import type { Colouring, FunctionName, SandwichAnswer, Theme } from './contract';
import { Graph, type GraphProps } from './graph';
import { modelOf } from './model';
import type { Test } from './pattern';
import { matchesOf } from './search';

interface SandwichProps extends Pick<GraphProps, 'onSelect'> {
	colour: Colouring;
	theme: Theme;
	of: FunctionName;
	answer: SandwichAnswer | null;
	/** of the whole answer, in the event's unit */
	whole: number;
	unit: string;
	test: Test | null;
	isHidden: Test | null;
	onClose(): void;
}

export function Sandwich(props: SandwichProps) {
	const { of, answer, whole, unit, onClose } = props;
	const format = formatOf(unit);
	const amount = (value: number) => `${format(value)} (${percent(value, whole)})`;

	return (
		<div class="flame-sandwich">
			<header>
				<h3><bdi>{safe(of.name).slice(0, 300)}</bdi></h3>
				{answer && <span>{words.total} {amount(answer.total)}, {words.self} {amount(answer.self)}</span>}
				<button onClick={onClose} title={`${words.closeSandwich} (Esc)`}>{words.closeSandwich}</button>
			</header>
			{answer ? <>
				<Half {...props} parts={answer.callers} name={words.callers} isIcicle={false} />
				<Half {...props} parts={answer.callees} name={words.callees} isIcicle />
			</> : <p class="flame-none">{words.loading}</p>}
		</div>
	);
}

/** Its zoom is not in the link: it starts anew with each function. */
function Half({ parts, name, isIcicle, of, test, isHidden, colour, theme, ...props }: SandwichProps & {
	parts: SandwichAnswer['callers']; name: string; isIcicle: boolean;
}) {
	const model = useMemo(() => modelOf(parts, of.name, isHidden), [parts, isHidden]);
	const matches = useMemo(() => matchesOf(model, test), [model, test]);
	const colours = useMemo(() => new Colours(model.tree, model.labels, colour, theme), [model, colour, theme]);
	const [zoom, setZoom] = useState({ model, node: 0 });

	return (
		<section>
			<h4>{name}</h4>
			<Graph {...props} model={model} colours={colours} name={`${name}: ${safe(of.name)}`} isIcicle={isIcicle}
				matches={matches} zoomed={zoom.model === model ? zoom.node : 0} hasMap={false}
				onZoom={(node) => setZoom({ model, node })} onMore={() => {}} />
		</section>
	);
}
