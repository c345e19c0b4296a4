// Files go in and come out; cells see no other file of the host.
import { createSandbox, shutdown } from "cellar";

const sandbox = await createSandbox();
await sandbox.putFile("in/sales.csv", "month,total\njan,20\nfeb,22\n");
const { status } = await sandbox.execute(`
import csv, json
rows = list(csv.DictReader(open("in/sales.csv")))
json.dump({"total": sum(int(row["total"]) for row in rows)}, open("out.json", "w"))
`);
console.log(status, (await sandbox.getFile("out.json")).toString());

const { files } = await sandbox.listFiles();
console.log(files.map(({ path, kind }) => `${path} (${kind})`).join(", "));

const here = new URL(import.meta.url).pathname;
const look = await sandbox.execute(`open(${JSON.stringify(here)})`);
console.log(look.error?.type);
await shutdown();
