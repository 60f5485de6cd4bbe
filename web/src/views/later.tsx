// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from 'preact/hooks';

type More = typeof import('../more');

let more: More | null = null;

/** A view of the file that loads later: an empty page until it is there. */
export function Later({ name }: { name: keyof More }) {
	const [fault, setFault] = useState<unknown>(null);
	const [, setLoaded] = useState(more !== null);
	const View = more?.[name];

	useEffect(() => {
		if (!more)
			import('../more').then((loaded) => { more = loaded; setLoaded(true); }, setFault);
	}, []);
	if (fault)
		throw fault; // the page says so, and offers to load it again
	return View ? <View /> : <main id="content" />;
}
