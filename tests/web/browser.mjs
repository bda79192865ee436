// SPDX-License-Identifier: MIT
// A headless Chromium by the DevTools protocol over a pipe: no port, no package.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const LIMIT_MS = 60000;

export class Browser {
    static async start(program) {
        const browser = new Browser();
        browser.home = mkdtempSync(join(tmpdir(), "hammer-web-"));
        browser.process = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", "--user-data-dir=" + browser.home, "--remote-debugging-pipe", "about:blank"],
        { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
        browser.waiting = new Map();
        browser.number = 0;
        browser.events = () => {};
        let rest = "";
        browser.process.stdio[4].on("data", (bytes) => {
            const messages = (rest + bytes).split("\0");
            rest = messages.pop();
            messages.forEach((text) => browser.take(JSON.parse(text)));
        });
        browser.process.on("exit", () => browser.fail(new Error("the browser ended")));
        browser.process.on("error", (error) => browser.fail(error));
        browser.process.stdio[3].on("error", (error) => browser.fail(error));
        const { targetId } = await browser.call("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await browser.call("Target.attachToTarget", { targetId, flatten: true });
        browser.session = sessionId;
        for (const domain of ["Page", "Network", "Runtime", "Log"]) await browser.call(domain + ".enable");
        return browser;
    }

    take(message) {
        const waiting = this.waiting.get(message.id);
        if (!waiting) return this.events(message);
        this.waiting.delete(message.id);
        if (message.error) waiting.reject(new Error(waiting.method + ": " + message.error.message));
        else waiting.resolve(message.result);
    }

    fail(error) {
        this.waiting.forEach((waiting) => waiting.reject(error));
        this.waiting.clear();
    }

    call(method, params = {}) {
        const id = ++this.number;
        const message = { id, method, params };
        if (this.session && !method.startsWith("Target.")) message.sessionId = this.session;
        return new Promise((resolve, reject) => {
            const late = setTimeout(() => reject(new Error(method + ": no answer")), LIMIT_MS);
            const end = (f) => (value) => { clearTimeout(late); f(value); };
            this.waiting.set(id, { method, resolve: end(resolve), reject: end(reject) });
            this.process.stdio[3].write(JSON.stringify(message) + "\0");
        });
    }

    // Opens the file as that reader has it, and says what was asked for and complained of meanwhile.
    async open(file, { width = 1180, height = 900, scheme = "light", media = "screen", script = true } = {}) {
        const seen = { requests: [], complaints: [] };
        await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
        await this.call("Emulation.setScriptExecutionDisabled", { value: !script });
        await this.call("Emulation.setEmulatedMedia",
            { media, features: [{ name: "prefers-color-scheme", value: scheme }] });
        const loaded = new Promise((resolve) => {
            this.events = ({ method, params }) => {
                if (method === "Network.requestWillBeSent") seen.requests.push(params.request.url);
                if (method === "Log.entryAdded") seen.complaints.push(params.entry.text);
                if (method === "Runtime.consoleAPICalled") seen.complaints.push(params.type);
                if (method === "Runtime.exceptionThrown")
                    seen.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
                if (method === "Page.loadEventFired") resolve();
            };
        });
        await this.call("Page.navigate", { url: pathToFileURL(file).href });
        await loaded;
        if (script) await this.run("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))");
        return seen;
    }

    // The value of an expression in the page; promises are waited for.
    async run(expression) {
        const { result, exceptionDetails } = await this.call("Runtime.evaluate",
            { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        return result.value;
    }

    async picture(file, clip) {
        const { data } = await this.call("Page.captureScreenshot", clip
            ? { clip: { scale: 1, ...clip }, captureBeyondViewport: true } : { captureBeyondViewport: true });
        writeFileSync(file, Buffer.from(data, "base64"));
    }

    async pdf() {
        return Buffer.from((await this.call("Page.printToPDF", { printBackground: true })).data, "base64");
    }

    async stop() {
        this.session = undefined;
        const ended = new Promise((resolve) => this.process.on("exit", resolve));
        const killer = setTimeout(() => this.process.kill("SIGKILL"), 5000);
        this.call("Browser.close").catch(() => {});
        await ended;
        clearTimeout(killer);
        rmSync(this.home, { recursive: true, force: true, maxRetries: 5 });
    }
}
