// SPDX-License-Identifier: MIT
// Interval logs (.hlog) as hdr-histogram-js reads them, and what other readers would trip over.
//   verify-hlog.mjs hlog FILE.hlog                  merges each tag, prints JSON; 1 on any finding
//   verify-hlog.mjs compare FILE.hlog REPORT.json   the same figures as hammer's report?
// HDR_JS: hdr-histogram-js/dist/index.js, where it is not beside this file.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

const require = createRequire(import.meta.url);
const { decodeFromCompressedBase64, build } = require(process.env.HDR_JS ?? "hdr-histogram-js");

const LEGEND =
  '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"';
const LINE =
  /^(?:Tag=([^, \r\n]+),)?(\d+\.\d{3}),(\d+\.\d{3}),(\d+\.\d{3}),([A-Za-z0-9+/]+={0,2})$/;
const HEAD_MAX = 126; // HdrHistogram_c splits what is longer
const PERCENTILES = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 100];

let found = 0;
function fail(where, what) {
  found++;
  console.error(`${where}: ${what}`);
}

// The envelope, independently of the library.
function checkEnvelope(where, base64) {
  const e = Buffer.from(base64, "base64");
  if (e.readUInt32BE(0) !== 0x1c849314) fail(where, "cookie of the envelope");
  if (e.readInt32BE(4) !== e.length - 8) fail(where, "length of the envelope");
  const r = inflateSync(e.subarray(8));
  if (r.readUInt32BE(0) !== 0x1c849313) fail(where, "cookie");
  if (r.readInt32BE(4) !== r.length - 40) fail(where, "length");
  if (r.length < 41) fail(where, "empty payload: HdrHistogram_c cannot read it");
  if (r.readInt32BE(8) !== 0 || r.readDoubleBE(32) !== 1) fail(where, "offset or ratio");
}

function add(tags, tag, from, length, h) {
  const t = (tags[tag] ??= {
    to: 0,
    lines: 0,
    merged: build({
      bitBucketSize: 64,
      autoResize: true,
      lowestDiscernibleValue: 1,
      highestTrackableValue: 3600000000000,
      numberOfSignificantValueDigits: 3,
    }),
  });
  if (from < t.to - 0.0015) fail(tag, `time goes backwards to ${from}`);
  t.to = from + length;
  t.lines++;
  t.merged.add(h);
}

function takeData(where, line, tags) {
  const m = LINE.exec(line);
  if (!m) return fail(where, "no histogram line: " + line.slice(0, 80));
  checkEnvelope(where, m[5]);
  const h = decodeFromCompressedBase64(m[5], 64);
  if (Math.abs(h.maxValue / 1e6 - Number(m[4])) > 0.00051)
    fail(where, `maximum ${m[4]} ms, but ${h.maxValue} ns is recorded`);
  add(tags, m[1] ?? "", Number(m[2]), Number(m[3]), h);
}

function takeHead(where, line, seen) {
  if (seen) fail(where, "a comment after data: HdrHistogram_c stops reading here");
  if (line.length > HEAD_MAX) fail(where, "a line too long for HdrHistogram_c");
  if (line[0] === '"' && line !== LEGEND) fail(where, "legend");
}

function read(path) {
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  const tags = {};
  if (text.includes("\r")) fail(path, "a carriage return");
  if (lines.pop() !== "") fail(path, "the last line has no end");
  for (const must of ["#[Histogram log format version 1.3]", LEGEND])
    if (!lines.includes(must)) fail(path, "no line " + must);
  lines.forEach((line, i) => {
    const where = `${path}:${i + 1}`;
    if (line[0] === "#" || line[0] === '"') takeHead(where, line, Object.keys(tags).length > 0);
    else takeData(where, line, tags);
  });
  return tags;
}

function compareClock(t, latency, name) {
  if (latency.count === 0) return;
  if (!t) return fail(name, "missing");
  if (t.merged.totalCount !== latency.count)
    fail(name, `count ${t.merged.totalCount}, reported ${latency.count}`);
  for (const [p, want] of Object.entries(latency.percentiles)) {
    // A report never shows more than the slowest sample, whose bucket reaches beyond it.
    const got = Math.min(t.merged.getValueAtPercentile(Number(p)), latency.max);
    if (got !== want) fail(name, `p${p} ${got}, reported ${want}`);
  }
}

const [, , what, file, report] = process.argv;
const tags = read(file);
if (what === "compare") {
  const { latency } = JSON.parse(readFileSync(report, "utf8"));
  const both = latency.corrected.count > 0;
  if (both) compareClock(tags[""], latency.corrected, "corrected");
  compareClock(tags[both ? "uncorrected" : ""], latency.uncorrected, "uncorrected");
} else {
  const all = Object.entries(tags).map(([tag, t]) => [
    tag || "(no tag)",
    {
      lines: t.lines,
      count: t.merged.totalCount,
      ...Object.fromEntries(PERCENTILES.map((p) => [p, t.merged.getValueAtPercentile(p)])),
    },
  ]);
  console.log(JSON.stringify(Object.fromEntries(all), null, 1));
}
if (found > 0) process.exit(1);
