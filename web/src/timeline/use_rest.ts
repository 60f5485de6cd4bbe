// SPDX-License-Identifier: Apache-2.0
// A value that changes with each frame, as it is once it rests: for what the server is asked.
import { useEffect, useState } from 'preact/hooks';

const REST = 250; // ms without a change

export function useRest<T>(value: T): T {
	const [rested, setRested] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setRested(value), REST);
		return () => clearTimeout(timer);
	}, [value]);
	return rested;
}
