// SPDX-License-Identifier: MIT
// kubernetes_schema.mjs MODULES FILE...: every object of these files against the schema of its kind, from
// the npm packages in the folder MODULES; and whether the schema would have told, on a copy that is wrong.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const modules = path.resolve(process.argv[2]);
const yaml = createRequire(path.join(modules, 'x.js'))('js-yaml');

async function complaint(o) {
    const file = path.join(modules, 'kubernetes-models', o.apiVersion, 'index.js');
    try {
        const kinds = await import(pathToFileURL(file));
        new kinds[o.kind](o).validate();
        return null;
    } catch (e) {
        return e.message;
    }
}

const objects = process.argv.slice(3).flatMap((file) => yaml.loadAll(fs.readFileSync(file, 'utf8')));
let failed = objects.length < 8;
for (const o of objects) {
    const why = await complaint(o);
    console.log(`${o.kind} ${o.metadata.name}: ${why === null ? 'ok' : why}`);
    failed = failed || why !== null;
}
const wrong = structuredClone(objects.find((o) => o.kind === 'StatefulSet'));
wrong.spec.replicas = 'two';
if ((await complaint(wrong)) === null) {
    console.log('replicas: "two" passed: the schema looks at nothing');
    failed = true;
}
process.exit(failed ? 1 : 0);
