// SPDX-License-Identifier: Apache-2.0
// Asks the server. Addresses are relative, so that the page also works behind a proxy's path.
import type { FlameState } from '../flame/contract';
import type { Filters, Link, Shape, Side } from '../state/link';
import type { Range } from '../state/range';

/** A failure with words for the user: the server's, if it had any. */
export class AskError extends Error {
	constructor(readonly status: number, message: string) {
		super(message);
	}
}

const TOKEN_KEY = 'stackcam.token';
const FRAGMENT = '#token=';

/** Of this tab, or what an address brought once: that is for all tabs of this browser, and those to come. */
function currentToken(): string | null {
	return sessionStorage.getItem(TOKEN_KEY) ?? localStorage.getItem(TOKEN_KEY);
}

export function setToken(given: string): void {
	sessionStorage.setItem(TOKEN_KEY, given);
}

export function hasToken(): boolean {
	return currentToken() !== null;
}

/** "stackcam serve" prints an address with the token behind it. It does not stay there, where it would be shared. */
export function takeToken(): void {
	if (!location.hash.startsWith(FRAGMENT))
		return;
	try {
		localStorage.setItem(TOKEN_KEY, decodeURIComponent(location.hash.slice(FRAGMENT.length)));
		sessionStorage.removeItem(TOKEN_KEY);
	} catch {
		// cut short by who copied it: the page asks for it
	}
	history.replaceState(null, '', location.pathname + location.search);
}

function headers(): HeadersInit {
	const token = currentToken();
	return token ? { Authorization: `Bearer ${token}` } : {};
}

async function wordsOf(response: Response): Promise<string> {
	try {
		const { error } = await response.json();
		if (typeof error === 'string' && error)
			return error;
	} catch {
		// no JSON: a proxy's page, say
	}
	return `${response.status} ${response.statusText}`.trim();
}

async function get(path: string, query: URLSearchParams, signal?: AbortSignal): Promise<Response> {
	const address = `api/v1/${path}${query.size ? `?${query}` : ''}`;
	let response;
	try {
		response = await fetch(address, { headers: headers(), signal: signal ?? null, cache: 'no-cache' });
	} catch (error) {
		if (signal?.aborted)
			throw error;
		throw new AskError(0, '');
	}
	if (!response.ok)
		throw new AskError(response.status, await wordsOf(response));
	return response;
}

export async function getJson<T>(path: string, query: URLSearchParams, signal?: AbortSignal): Promise<T> {
	return (await get(path, query, signal)).json();
}

/** Fetches a file and has the browser save it. A plain link could not carry the token. */
export async function save(path: string, query: URLSearchParams, name: string): Promise<void> {
	const address = URL.createObjectURL(await (await get(path, query)).blob());
	const link = document.createElement('a');
	link.href = address;
	link.download = name;
	link.click();
	// the browser holds the file by then
	setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function put(query: URLSearchParams, values: Record<string, string | number | undefined>): URLSearchParams {
	for (const [name, value] of Object.entries(values)) {
		if (value !== undefined && value !== '')
			query.set(name, String(value));
	}
	return query;
}

function putSide(query: URLSearchParams, prefix: string, range: Range, side: Omit<Side, 'range'>): void {
	put(query, {
		[`${prefix}from`]: range.from,
		[`${prefix}to`]: range.to,
		[`${prefix}host`]: side.host,
		[`${prefix}service`]: side.service,
		[`${prefix}version`]: side.version,
	});
	for (const label of side.labels)
		query.append(`${prefix}label`, label);
}

export type More = Record<string, string | number | undefined>;

/** What all questions say: event, range and filters. */
export function askOf(event: string, range: Range, filters: Filters, more: More = {}): URLSearchParams {
	const query = new URLSearchParams();
	put(query, { event });
	putSide(query, '', range, filters);
	const { pid, tid, comm, focus, ignore, leaks, grown } = filters;
	return put(query, { pid, tid, comm, focus, ignore, leaks, grown, ...more });
}

/** And how stacks are merged. */
export function withShape(query: URLSearchParams, shape: Shape): URLSearchParams {
	return put(query, {
		by: shape.by,
		lines: shape.lines ? 1 : '',
		inlines: shape.inlines ? 1 : '',
		native: shape.native ? 1 : '',
	});
}

/** And what it is compared with. What it leaves out would be as on this side: so an empty value says "all". */
export function withBefore(query: URLSearchParams, before: Side): URLSearchParams {
	putSide(query, 'before_', before.range, before);
	for (const name of ['host', 'service', 'version', 'label']) {
		if (query.has(name) && !query.has(`before_${name}`))
			query.set(`before_${name}`, '');
	}
	return query;
}

export function profileAsk(link: Link, range: Range, more: More = {}): URLSearchParams {
	return withShape(askOf(link.event, range, link.filters, { request: link.ofRequest, ...more }), link.shape);
}

/** What a search asks beside what the profile itself asks. */
export function withSearch(query: URLSearchParams, { search, isRegex, hide }: FlameState, limit: number): URLSearchParams {
	return put(query, { text: search, regex: isRegex ? 1 : '', hide: hide.join('\n'), limit });
}
