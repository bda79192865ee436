// SPDX-License-Identifier: MIT
// check_report.mjs CHROMIUM FOLDER: opens every page of pages.json as different readers have it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./browser.mjs";

const [chromium, folder] = process.argv.slice(2);
const { lively, pages } = JSON.parse(readFileSync(join(folder, "pages.json"), "utf8"));
const browser = await Browser.start(chromium);
let checks = 0, failures = 0;

function expect(holds, what) {
    checks++;
    if (holds) return;
    failures++;
    console.log("FAILED " + what);
}

// --- what is asked in the page -------------------------------------------------------------------

const shown = (selector) => `[...document.querySelectorAll("${selector}")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 100 && box.height > 100 && getComputedStyle(e).visibility === "visible"; }).length`;

// Canvases on which something other than the empty canvas is drawn, in several colours.
const painted = `[...document.querySelectorAll(".live canvas")].filter(c => {
    const bytes = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, seen = new Set();
    for (let i = 0; i < bytes.length; i += 4)
        if (bytes[i + 3] > 200) seen.add(bytes[i] >> 4 << 8 | bytes[i + 1] >> 4 << 4 | bytes[i + 2] >> 4);
    return seen.size >= 3; }).length`;

// The lowest contrast of any text with what is behind it.
const contrast = `(() => {
    const parse = (c) => c.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (e) => {
        for (; e; e = e.parentElement) {
            const c = parse(getComputedStyle(e).backgroundColor);
            if (c.length < 4 || c[3] > 0.99) return c;
        }
        return [255, 255, 255];
    };
    let worst = [99, ""];
    for (const e of document.querySelectorAll("main *")) {
        const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        if (!own || !e.getClientRects().length || e.closest("title, desc, .u-off")) continue;
        const style = getComputedStyle(e);
        const a = light(parse(e.closest("svg") ? style.fill : style.color)), b = light(behind(e));
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < worst[0]) worst = [ratio, e.tagName + " " + e.className + " " + e.textContent.slice(0, 40)];
    }
    return worst;
})()`;

const wide = `document.documentElement.scrollWidth - innerWidth`;

// --- readers ---------------------------------------------------------------------------------------

async function open(page, how, options) {
    const file = join(folder, page.name + ".html");
    const seen = await browser.open(file, options);
    const name = page.name + ", " + how;
    expect(seen.requests.length === 1 && seen.requests[0] === pathToFileURL(file).href,
        name + ": asks for " + seen.requests);
    expect(seen.complaints.length === 0, name + ": the console has " + seen.complaints);
    await browser.picture(join(folder, page.name + "-" + how.replace(/ /g, "-") + ".png"));
    return name;
}

const timeline = (page) => (page.name === "no-answers" ? 1 : page.spectrum ? 2 : 0);
const lines = (page) => page.spectrum + timeline(page);

async function withScript(page, how, options) {
    const name = await open(page, how, options);
    expect(await browser.run(shown(".live .uplot")) === (lively ? lines(page) : 0), name + ": live charts");
    expect(await browser.run(shown("svg.chart")) === (lively ? page.heat : lines(page) + page.heat),
        name + ": the heat map alone is a picture");
    expect(!lively || await browser.run(painted) === lines(page), name + ": every canvas is drawn on");
    expect(await browser.run(wide) <= 0, name + ": nothing is wider than the page");
    const [ratio, where] = await browser.run(contrast);
    expect(ratio >= 4.5, name + ": contrast " + ratio + " of " + where);
    return name;
}

async function stillPictures(page, how, options) {
    const name = await open(page, how, options);
    expect(await browser.run(shown("svg.chart")) === lines(page) + page.heat, name + ": pictures");
    expect(await browser.run(shown(".live")) === 0, name + ": nothing live");
    expect(await browser.run(wide) <= 0, name + ": nothing is wider than the page");
}

// --- what one can do -------------------------------------------------------------------------------

const mouse = (type, x, y, more) => browser.call("Input.dispatchMouseEvent",
    { type, x, y, button: type === "mouseMoved" && !more ? "none" : "left", buttons: more ? 1 : 0, clickCount: 1 });

const boxOf = (selector) => browser.run(`(() => { const e = document.querySelector("${selector}");
    e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect();
    return {x: b.x, y: b.y, width: b.width, height: b.height}; })()`);

async function zoom(page) {
    await browser.open(join(folder, page.name + ".html"));
    const box = await boxOf("#latency .u-over"), y = box.y + box.height / 2;
    const hidden = `document.querySelector("#latency .tools button").hidden`;
    await mouse("mouseMoved", box.x + box.width * 0.5, y);
    expect(await browser.run(`/\\d\\s(m|µ)?s/.test(document.querySelector("#latency .u-legend").textContent)`),
        "the legend tells the values under the cursor");
    expect(await browser.run(hidden), "not zoomed yet");
    await mouse("mousePressed", box.x + box.width * 0.3, y, true);
    await mouse("mouseMoved", box.x + box.width * 0.6, y, true);
    await mouse("mouseReleased", box.x + box.width * 0.6, y);
    expect(!await browser.run(hidden), "zoomed by dragging");
    await browser.run(`document.querySelector("#latency .tools button").click()`);
    expect(await browser.run(hidden), "and back");
}

async function toggle() {
    const state = `document.querySelectorAll("#latency .u-legend th[role=switch]")[1].getAttribute("aria-checked")`;
    const before = await browser.run(state);
    await browser.run(`document.querySelectorAll("#latency .u-legend th[role=switch]")[1].focus()`);
    for (const type of ["keyDown", "keyUp"])
        await browser.call("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13 });
    expect(before === "true" && await browser.run(state) === "false", "a line is switched off with the keyboard");
}

async function heat(page) {
    const box = await boxOf("#heat svg.chart");
    const readout = `document.querySelector("#heat .readout").textContent`;
    if (lively) {
        await mouse("mouseMoved", box.x + box.width * 0.5, box.y + box.height * 0.5);
        expect(/ to .* requests/.test(await browser.run(readout)), "the heat map tells what is under the pointer");
    }
    const seen = (which) => browser.run(`getComputedStyle(document.querySelector("#heat g.${which}")).display`);
    expect(await seen("due") !== "none" && await seen("sent") === "none", "corrected first");
    const other = await boxOf("#heat label[for=heat-sent]");
    for (const type of ["mousePressed", "mouseReleased"]) await mouse(type, other.x + 5, other.y + other.height / 2);
    expect(await seen("due") === "none" && await seen("sent") !== "none", page.name + ": uncorrected on request");
}

// The page's own policy: what got into it could neither run nor load.
async function policy(page) {
    await browser.open(join(folder, page.name + ".html"));
    const blocked = await browser.run(`new Promise(resolve => {
        const seen = [];
        document.addEventListener("securitypolicyviolation", e => {
            seen.push(e.effectiveDirective);
            if (seen.length === 3) resolve(seen.sort().join(" "));
        });
        const add = (name, set) => document.body.append(Object.assign(document.createElement(name), set));
        add("script", {textContent: "window.ran = true"});
        add("style", {textContent: "body { color: red }"});
        add("img", {src: "picture.png"});
        setTimeout(() => resolve("only " + seen), 3000);
    })`);
    expect(/^img-src script-src-elem style-src-elem$/.test(blocked), "the policy blocks: " + blocked);
    expect(await browser.run("window.ran === undefined"), "nothing that was added runs");
}

async function colours(page) {
    const of = async (scheme) => {
        await browser.open(join(folder, page.name + ".html"), { scheme });
        return browser.run(`getComputedStyle(document.body).backgroundColor`);
    };
    expect(await of("light") === "rgb(255, 255, 255)" && await of("dark") !== "rgb(255, 255, 255)", "both schemes");
}

try {
    for (const page of pages) {
        await withScript(page, "light", {});
        await withScript(page, "dark", { scheme: "dark" });
        await withScript(page, "phone", { width: 390, height: 800 });
        await stillPictures(page, "without script", { script: false });
        await stillPictures(page, "without script on a phone", { script: false, width: 390, height: 800 });
        await stillPictures(page, "print", { media: "print", width: 794, height: 1123 });
        const pdf = await browser.pdf();
        expect(pdf.subarray(0, 5).toString() === "%PDF-", page.name + ": prints");
        expect(await browser.run("document.querySelectorAll('img, iframe, object, link').length") === 0,
            page.name + ": no element that loads");
    }
    const all = pages.find((page) => page.name === "all");
    await colours(all);
    if (lively) await zoom(all);
    if (lively) await toggle();
    await browser.open(join(folder, all.name + ".html"));
    await heat(all);
    await policy(all);
} finally {
    await browser.stop();
}
console.log(`${checks} checks, ${failures} failed; pictures in ${folder}`);
process.exit(failures ? 1 : 0);
