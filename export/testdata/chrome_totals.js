// Reads files of trace events as a viewer does and prints what each adds up to, as a line of JSON. It fails if a number
// is one that JavaScript can't hold exactly, or if args are no object.
const fs = require("fs");
const exact = (event, value) => {
	if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value))
		throw new Error("inexact number in " + JSON.stringify(event));
	if (value !== null && typeof value === "object") Object.values(value).forEach(v => exact(event, v));
};
const ns = (micros) => Math.round(micros * 1000);
const add = (map, key, n) => { map[key] = (map[key] || 0) + n; };

const sum = (events) => {
	const totals = { events: events.length, states: {}, instants: {}, cpu_ns: 0 };
	const cpus = events.find(e => e.ph === "M" && e.name === "process_name" && e.args.name === "CPUs").pid;
	const begun = {};
	for (const e of events) {
		if (e.args === null || typeof e.args !== "object" || Array.isArray(e.args)) throw new Error(JSON.stringify(e));
		exact(e, e);
		if (e.ph === "T") add(totals.states, e.name.replace("+", "") + (e.args.io_wait ? " io" : ""), ns(e.dur));
		if (e.ph === "i" && !e.name.endsWith(" events lost"))
			add(totals.instants, e.name.replace(/^(open|failed open|fork|exec|wake|woken by) .*$/s, "$1"), 1);
		if (e.pid !== cpus) continue;
		if (e.ph === "B") begun[e.tid] = e.ts;
		if (e.ph === "E") totals.cpu_ns += ns(e.ts) - ns(begun[e.tid]);
	}
	return totals;
};

for (const file of process.argv.slice(2)) console.log(JSON.stringify(sum(JSON.parse(fs.readFileSync(file, "utf8")))));
