// SPDX-License-Identifier: Apache-2.0
// Runs inside the pages that bench/page measures, before their own scripts: notes when something is
// drawn and how long frames take.
'use strict';
window.bench = (() => {
	let draws = 0;
	const count = (type, names) => {
		for (const name of names) {
			const plain = type.prototype[name];
			type.prototype[name] = function(...all) {
				draws++;
				return plain.apply(this, all);
			};
		}
	};
	count(CanvasRenderingContext2D, ['fillRect', 'fill']);
	count(WebGLRenderingContext, ['drawArrays', 'drawElements']);
	count(WebGL2RenderingContext, ['drawArrays', 'drawElements']);
	const frame = () => new Promise(requestAnimationFrame);

	/** Milliseconds from the data, a text, until the frame after the first one that draws. */
	async function firstPaint(load) {
		await frame();
		draws = 0;
		const began = performance.now();
		load();
		await null; // what is drawn with this frame has been drawn now
		while (draws === 0)
			await frame();
		await frame();
		return performance.now() - began;
	}

	/** Does something before each frame, for so many milliseconds; the times between frames. */
	async function frames(each, milliseconds) {
		const times = [];
		let last = await frame();
		const began = last;
		const drawsBefore = draws;
		for (let i = 0; last - began < milliseconds; i++) {
			each(i);
			const now = await frame();
			times.push(now - last);
			last = now;
		}
		return { times, draws: draws - drawsBefore };
	}

	/** Ctrl and the wheel: closer for 40 frames, further for 40, around a place that moves. */
	function zoom(canvas, i) {
		const box = canvas.getBoundingClientRect();
		wheel(canvas, box.left + box.width * (0.1 + i % 160 / 200), i % 80 < 40 ? -60 : 60, true);
	}

	/** Shift and the wheel: to the right for 40 frames, to the left for 40. */
	function across(canvas, i) {
		wheel(canvas, canvas.getBoundingClientRect().left + 100, i % 80 < 40 ? 30 : -30, false, true);
	}

	function wheel(canvas, x, deltaY, ctrlKey, shiftKey = false) {
		const box = canvas.getBoundingClientRect();
		const point = { clientX: x, clientY: box.top + box.height / 2 };
		canvas.dispatchEvent(new MouseEvent('mousemove', { ...point, bubbles: true }));
		canvas.dispatchEvent(new WheelEvent('wheel', { ...point, deltaY, ctrlKey, shiftKey, bubbles: true, cancelable: true }));
	}
	const down = (i) => i % 80 < 40;

	return { firstPaint, frames, zoom, across, wheel, down };
})();
