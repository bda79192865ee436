/* SPDX-License-Identifier: MIT */
/* The HTML report's livelier charts: zoom by dragging, the values under the cursor, lines that can be
   switched off. Without it the page has the same in still pictures and tables. */
"use strict";
(() => {
    const data = JSON.parse(document.getElementById("data").textContent);
    const narrow = matchMedia("(max-width: 560px)");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const space = "\u202f";

    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

    /* --- numbers for people -------------------------------------------------------------------- */

    const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];

    const latency = (ns, digits = 4) => {
        if (ns == null) return "\u2013";
        const [size, name] = units.find(([least]) => ns >= least * 0.9995) || units[3];
        return Number((ns / size).toPrecision(digits)) + space + name;
    };

    const count = (n) => {
        if (n == null) return "\u2013";
        const text = n >= 100 ? Math.round(n) : Number(n.toPrecision(4));
        return String(text).replace(/\B(?=(\d{3})+(?!\d)(?!.*\.\d))/g, space);
    };

    const time = (s) => {
        if (s == null) return "\u2013";
        if (s < 60) return Number(s.toFixed(3)) + space + "s";
        const pad = (n) => String(n).padStart(2, "0");
        const whole = Math.floor(s), minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
        return (hours ? hours + ":" + pad(minutes) : minutes) + ":" + pad(whole % 60);
    };

    /* x is log10(1 / (1 - p)). */
    const percentile = (x) => {
        if (x == null) return "\u2013";
        const digits = Math.max(1, Math.ceil(x) - 1);
        return (100 - 100 * 10 ** -x).toFixed(digits).replace(/\.?0+$/, "") + space + "%";
    };

    /* --- axes ---------------------------------------------------------------------------------- */

    /* 1, 2, 5 of every decade while there are few of them. */
    const latencySplits = (u, axis, min, max) => {
        const decades = Math.log10(max / min), all = [];
        const leads = decades < 0.6 ? [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8] :
            decades < 1.2 ? [1, 2, 3, 5, 7] : decades < 2.3 ? [1, 2, 5] : [1];
        for (let d = 10 ** Math.floor(Math.log10(min)); d <= max; d *= 10)
            for (const lead of leads)
                if (d * lead >= min * 0.999 && d * lead <= max * 1.001) all.push(d * lead);
        return all;
    };

    const percentileSplits = (u, axis, min, max) => {
        const all = [0, Math.log10(2)];
        for (let nines = 1; nines <= max; nines++) all.push(nines);
        const seen = all.filter((x) => x >= min && x <= max);
        if (seen.length > 2) return seen;
        return [0, 1, 2, 3, 4].map((i) => min + (max - min) * i / 4);
    };

    const timeSteps = [1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900,
        1800, 3600, 7200, 10800, 21600, 43200, 86400];

    const axisOf = (more) => Object.assign({
        stroke: colour("quiet"),
        font: "12px " + getComputedStyle(document.body).fontFamily,
        grid: {stroke: colour("grid"), width: 1},
        ticks: {stroke: colour("grid"), width: 1, size: 5},
        border: {show: true, stroke: colour("axis"), width: 1},
    }, more);

    const latencyAxis = () => axisOf({
        size: 70,
        splits: latencySplits,
        filter: (u, splits) => splits,
        values: (u, splits) => splits.map((v) => latency(v)),
    });

    const timeAxis = () => axisOf({
        size: 32,
        incrs: timeSteps,
        space: narrow.matches ? 60 : 80,
        values: (u, splits) => splits.map(time),
    });

    /* --- what is marked behind the lines ----------------------------------------------------------- */

    const paint = (u, from, to, fill) => {
        const {left, top, width, height} = u.bbox;
        const a = Math.max(left, u.valToPos(from, "x", true));
        const b = Math.min(left + width, u.valToPos(to, "x", true));
        if (b <= a) return;
        u.ctx.save();
        u.ctx.fillStyle = fill;
        u.ctx.fillRect(a, top, Math.max(b - a, 1.5 * devicePixelRatio), height);
        u.ctx.restore();
        return [a, b];
    };

    const label = (u, text, [a, b], row) => {
        u.ctx.save();
        u.ctx.font = 12 * devicePixelRatio + "px " + getComputedStyle(document.body).fontFamily;
        u.ctx.fillStyle = colour("quiet");
        u.ctx.textAlign = "center";
        u.ctx.textBaseline = "top";
        if (u.ctx.measureText(text).width + 8 < b - a)
            u.ctx.fillText(text, (a + b) / 2, u.bbox.top + (4 + 16 * row) * devicePixelRatio);
        u.ctx.restore();
    };

    const bands = (u) => {
        let stages = 0;
        for (const band of data.bands) {
            const stage = band.kind === "stage";
            if (stage && stages++ % 2) {
                const a = u.valToPos(band.from, "x", true), b = u.valToPos(band.to, "x", true);
                label(u, band.text, [Math.max(a, u.bbox.left), Math.min(b, u.bbox.left + u.bbox.width)], 0);
                continue;
            }
            const where = paint(u, band.from, band.to, colour(band.kind));
            if (where && band.kind !== "stall") label(u, band.text, where, stage ? 0 : 1);
        }
    };

    const bandAt = (s) => data.bands.filter((b) => s >= b.from && s < b.to).map((b) => b.text).join(", ");

    /* --- one chart --------------------------------------------------------------------------------- */

    const charts = [];

    /* Only values without neighbours are points: a line does not show them. */
    const alone = (u, index) => u.data[index].flatMap((v, i, all) =>
        v != null && all[i - 1] == null && all[i + 1] == null ? [i] : []);

    const line = (name, key, value, more) => Object.assign({
        label: name, stroke: () => colour(key), width: 2, value: (u, v) => value(v),
        points: {show: true, size: 5, filter: alone},
    }, more);

    /* Lines of the legend can be switched with the keyboard too. */
    const reachable = (u) => {
        u.root.querySelectorAll(".u-legend tr:not(:first-child) th").forEach((th, i) => {
            const row = th.closest("tr");
            th.tabIndex = 0;
            th.setAttribute("role", "switch");
            const tell = () => th.setAttribute("aria-checked", String(!row.classList.contains("u-off")));
            tell();
            new MutationObserver(tell).observe(row, {attributes: true, attributeFilter: ["class"]});
            th.addEventListener("keydown", (event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                u.setSeries(i + 1, {show: !u.series[i + 1].show});
            });
        });
    };

    /* Says how to zoom, and goes back from it. */
    const toolsOf = (plot) => {
        const tools = document.createElement("div"), back = document.createElement("button");
        const hint = document.createElement("span");
        tools.className = "tools";
        hint.className = "hint";
        hint.textContent = "drag to zoom";
        back.type = "button";
        back.textContent = "whole";
        back.hidden = true;
        tools.append(hint, back);
        plot.prepend(tools);
        return {back, hint};
    };

    const drawn = (id, options, values) => {
        const plot = document.querySelector("#" + id + " .plot");
        if (!plot) return;
        const live = document.createElement("div");
        live.className = "live";
        live.setAttribute("role", "group");
        live.setAttribute("aria-label", document.querySelector("#" + id + " h3").textContent + ", interactive");
        plot.prepend(live);
        plot.classList.add("has-live");
        const {back, hint} = toolsOf(plot);
        const chart = {u: null, shown: null};
        const size = () => ({width: plot.clientWidth, height: narrow.matches ? 240 : 310});
        const whole = options().scales.x.range;
        const zoomed = (u) => {
            const {min, max} = u.scales.x, away = min > whole[0] + 1e-9 || max < whole[1] - 1e-9;
            back.hidden = !away;
            hint.hidden = away;
        };
        chart.make = () => {
            const all = Object.assign(size(), {
                cursor: {drag: {x: true, y: false}, points: {size: 7}},
                legend: {live: true, markers: {dash: (u, i) => u.series[i].dash ? "dashed" : "solid"}},
                padding: [12, 14, 0, 0],
            }, options());
            all.scales.x = {time: false, min: whole[0], max: whole[1]};
            all.series.forEach((s, i) => {
                if (chart.shown && i) s.show = chart.shown[i];
            });
            all.hooks.setScale = [(u, key) => key === "x" && zoomed(u)];
            all.hooks.ready = [reachable];
            if (chart.u) chart.u.destroy();
            chart.u = new uPlot(all, values, live);
        };
        back.addEventListener("click", () => chart.u.setScale("x", {min: whole[0], max: whole[1]}));
        chart.make();
        /* A double click goes back to what the axis began with. */
        live.addEventListener("dblclick", (event) => {
            event.stopPropagation();
            chart.u.setScale("x", {min: whole[0], max: whole[1]});
        }, true);
        new ResizeObserver(() => chart.u.setSize(size())).observe(plot);
        charts.push(chart);
    };

    /* --- the three of them ---------------------------------------------------------------------------- */

    const logScale = () => ({
        distr: 3,
        range: (u, min, max) => min == null ? [1e6, 1e9] : [min / 1.25, max * 1.25],
    });

    const spectrum = () => {
        const s = data.spectrum;
        if (!s) return;
        const main = data.oneClock ? "latency" : "corrected";
        const values = [s.x, s.uncorrected, s.all_due, s.corrected].filter(Boolean);
        drawn("spectrum", () => {
            const series = [{label: "share", value: (u, v) => percentile(v)}];
            if (s.uncorrected) series.push(line("uncorrected", "sent", latency, {dash: [7, 4]}));
            if (s.all_due) series.push(line("all due", "all", latency, {dash: [2, 4], width: 2.6}));
            series.push(line(main, "due", latency, {width: 2.4}));
            return {
                scales: {x: {range: [0, s.x[s.x.length - 1]]}, y: logScale()},
                axes: [axisOf({
                    size: 32,
                    splits: percentileSplits, filter: (u, splits) => splits,
                    values: (u, splits) => splits.map((x, i) =>
                        narrow.matches && (i === 1 || i > 3 && i % 2) ? null : percentile(x)),
                }), latencyAxis()],
                series,
                hooks: {drawClear: [(u) => paint(u, s.supported, s.x[s.x.length - 1], colour("weak"))]},
            };
        }, values);
    };

    const overTime = (id, series, values, y) => drawn(id, () => ({
        scales: {x: {range: [data.time.from, data.time.to]}, y: y.scale()},
        axes: [timeAxis(), y.axis()],
        series: [{label: "time", value: (u, v) => v == null ? "\u2013" : time(v) + (bandAt(v) && " (" + bandAt(v) + ")")},
            ...series()],
        hooks: {drawClear: [bands]},
    }), [data.time.x, ...values]);

    const latencies = () => {
        const t = data.time, y = {scale: logScale, axis: latencyAxis};
        const three = (suffix, look) => [
            line("max" + suffix, look.max, latency, {width: 1.3, dash: look.dash, show: look.show.max}),
            line("p99" + suffix, look.p99, latency, {dash: look.dash, width: look.dash ? 2 : 2.4}),
            line("p50" + suffix, look.p50, latency, {dash: look.dash, show: look.show.p50}),
        ];
        const due = {max: "max", p99: "due", p50: "median", show: {max: true, p50: true}};
        const sent = {max: "sent", p99: "sent", p50: "sent", dash: [7, 4], show: {max: false, p50: false}};
        if (data.oneClock)
            overTime("latency", () => three("", due), [t.umax, t.u99, t.u50], y);
        else
            overTime("latency", () => [...three(" uncorrected", sent), ...three(" corrected", due)],
                [t.umax, t.u99, t.u50, t.cmax, t.c99, t.c50], y);
    };

    const rates = () => {
        const t = data.time;
        overTime("rate", () => [
            line("responses/s", "due", count, {width: 2.4}),
            line("target/s", "target", count, {dash: [7, 4], width: 1.6}),
            line("errors/s", "bad", count, {width: 1.6, fill: () => colour("stall")}),
        ], [t.achieved, t.target, t.errors], {
            scale: () => ({range: (u, min, max) => [0, max > 0 ? max * 1.08 : 1]}),
            axis: () => axisOf({size: 70, values: (u, splits) => splits.map(count)}),
        });
    };

    /* --- the heat map: what is under the pointer --------------------------------------------------------- */

    const heat = () => {
        const h = data.heat, figure = document.getElementById("heat");
        if (!h || !figure) return;
        const svg = figure.querySelector("svg.chart"), out = figure.querySelector(".readout");
        const plot = svg.querySelector(".axis").getBBox(), sent = document.getElementById("heat-sent");
        const top = h.edges[h.edges.length - 1], bottom = h.edges[0];
        figure.classList.add("lively");
        svg.addEventListener("pointermove", (event) => {
            const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
            const s = data.time.from + (at.x - plot.x) / plot.width * (data.time.to - data.time.from);
            const ns = top * (bottom / top) ** ((at.y - plot.y) / plot.height);
            const column = h.from.findIndex((from, i) => s >= from && s < h.to[i]);
            const row = h.edges.findIndex((edge, i) => ns >= edge && ns < h.edges[i + 1]);
            out.textContent = column < 0 || row < 0 ? "" :
                time(h.from[column]) + " to " + time(h.to[column]) + ", " + latency(h.edges[row], 3) + " to " +
                latency(h.edges[row + 1], 3) + ": " + count((sent && sent.checked ? h.sent : h.due)[column][row]) +
                " requests";
        });
        svg.addEventListener("pointerleave", () => { out.textContent = ""; });
    };

    spectrum();
    latencies();
    rates();
    heat();

    const again = () => charts.forEach((chart) => {
        chart.shown = chart.u.series.map((s) => s.show);
        chart.make();
    });
    dark.addEventListener("change", again);
    narrow.addEventListener("change", again);
})();
