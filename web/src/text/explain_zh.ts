// SPDX-License-Identifier: Apache-2.0
import type { ExplainText } from './explain_en';

export const explain: ExplainText = {
	title: '为何耗时如此之久',
	close: '关闭 (Esc)',
	took: (time, thread) => `在 ${thread} 中耗时 ${time}：`,
	hadTaken: (time, thread) => `在 ${thread} 中已耗时 ${time}，尚未结束：`,
	bar: '时间的组成；下面的列表以文字说明同样的内容',
	unexplained: '未能解释',
	likely: '（可能：也许由中断结束）',
	spent: '其间用于：',
	evidence: '依据',
	cause: (what, thread, time) => `最长的原因：${thread} 的 ${what}，${time}。`,
	moreThreads: { yes: '更多线程会有帮助：', no: '更多线程没有帮助：', unknown: '更多线程是否有帮助尚不可知：' },
	notLinked: (tasks) => `未关联：其进程运行共享线程的任务（${tasks}）：其中部分时间可能属于其他任务。`,
	spansOfTrace: '该追踪的 span',
	spansOfProcess: '该进程在这段时间内的 span',
	spanFailed: '失败',
	moreSpans: (shown) => `仅显示前 ${shown} 个。`,
	inThread: (thread) => `在 ${thread} 中`,
	threads: '其线程',
	timeline: (n) => `其 ${n} 个线程的时间线`,
	timelineHint: '其路径上的所有线程，置于最上',
	why: '为什么？',
	whyHint: '这个请求的时间用在了哪里',
};
