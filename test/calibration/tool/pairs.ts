/** Two results of calls, and whether an agent that has one would want to be shown the other. */
export type CalibrationPair = readonly [one: string, other: string, isRelated: boolean];

const RELATED: readonly (readonly [string, string])[] = [
  [
    "error\nERROR 10:42:07 connection to db-3 timed out after 30 s",
    "'db-3'\ndb-3: connection refused, retry in 5 s, connection timed out",
  ],
  [
    "timeout\nline 42: connection timeout while reading from upstream",
    "500\nError at line 42: connection timeout, upstream closed the socket",
  ],
  [
    "def parse_config\nconfig.py:12: def parse_config(path, strict=False):",
    "'config.py'\ndef parse_config(path, strict=False): reads a TOML file",
  ],
  [
    "parse_config(\ncli.py:88: settings = parse_config(arguments.path)",
    "def parse_config\nconfig.py:12: def parse_config(path, strict=False):",
  ],
  [
    "revenue\nRevenue for fiscal 2023 was $4.2 billion, up 12 percent",
    "fiscal 2023\nIn fiscal 2023 revenue grew 12 percent to $4.2 billion",
  ],
  [
    "net income\nNet income fell to 310 million because of restructuring charges",
    "restructuring\nRestructuring charges of 95 million lowered net income",
  ],
  [
    "termination\nSection 9.2 Either party may terminate this Agreement upon thirty days notice",
    "notice\nthirty days written notice before termination of the Agreement",
  ],
  [
    "indemnif\nThe Supplier shall indemnify the Customer against third party claims",
    "third party\nclaims of third parties: the Supplier indemnifies the Customer",
  ],
  [
    "dosage\nThe recommended dosage of ibuprofen is 400 mg every six hours",
    "ibuprofen\nibuprofen 400 mg, not more than 1200 mg a day, taken with food",
  ],
  [
    "adverse\nAdverse events: nausea (12%), headache (9%), dizziness (4%)",
    "headache\nheadache and nausea were the most common adverse events in the trial",
  ],
  [
    "'/workspace'\nsales_2021.csv, sales_2022.csv, sales_2023.csv, readme.txt",
    "'sales_2023.csv'\nsales_2023.csv: 48210 rows, 12 columns, 5.1 MB",
  ],
  [
    "'sales_2023.csv'\nregion,product,units,price\nNorth,Widget,14,3.99",
    "Widget\nNorth,Widget,14,3.99\nSouth,Widget,20,3.89 units and price by region",
  ],
  [
    "Summarise the causes of the outage\nThe outage was caused by an expired certificate on the gateway",
    "certificate\ngateway: certificate expired on 3 March, handshake failed",
  ],
  [
    "expired\nTLS certificate expired, handshake with the gateway failed",
    "handshake\nhandshake failed: certificate has expired (gateway-1)",
  ],
  [
    "memory leak\nHeap grew from 200 MB to 3 GB within an hour: suspected memory leak in cache.py",
    "cache.py\ncache.py never evicts entries, so the heap grows until memory runs out",
  ],
  [
    "class LRUCache\ncache.py:40: class LRUCache: evicts the oldest entry above capacity",
    "evict\ncache.py:61: def evict(self): drops the oldest entry of the LRUCache",
  ],
  [
    "whale\nCall me Ishmael. the white whale had taken his leg",
    "Ahab\nAhab hunts the white whale that took his leg",
  ],
  [
    "Elizabeth\nElizabeth refused Mr. Collins and Mrs. Bennet was furious",
    "Collins\nMr. Collins proposed to Elizabeth, who refused him",
  ],
  [
    "photosynthesis\nPhotosynthesis turns carbon dioxide and water into glucose in the chloroplast",
    "chloroplast\nThe chloroplast is where photosynthesis makes glucose",
  ],
  [
    "earthquake\nA magnitude 7.1 earthquake struck the coast at 04:16",
    "magnitude\naftershocks of magnitude 5 followed the coast earthquake at 04:16",
  ],
  [
    "password\nauth.py:77: raise LoginError('wrong password')",
    "LoginError\nclass LoginError(Exception) is raised for a wrong password in auth.py",
  ],
  [
    "retry\nhttp_client.py:30 retries=3, backoff=2.0, retry on 502 and 503",
    "backoff\nexponential backoff of 2.0 between retries in http_client.py",
  ],
  [
    "deadlock\nthread 7 waits for lock A held by thread 9, which waits for lock B: deadlock",
    "lock B\nlock B is held by thread 7 since 12:00:01; thread 9 waits",
  ],
  [
    "What is the capital requirement?\nBanks must hold a capital ratio of at least 8 percent",
    "capital ratio\nThe capital ratio of the bank was 11.3 percent, above the required 8 percent",
  ],
  [
    "migration\n0042_add_user_email.sql: ALTER TABLE users ADD COLUMN email TEXT",
    "users\nCREATE TABLE users (id INTEGER, name TEXT, email TEXT)",
  ],
  [
    "temperature\nsensor 14 reported a temperature of 91 C at noon",
    "sensor 14\nsensor 14: last reading 91 C, limit 85 C, temperature alarm raised",
  ],
  [
    "TODO\nTODO: validate the checksum before unpacking the archive",
    "checksum\narchive.py:19: the checksum of the archive is not validated",
  ],
  [
    "list the authors\nSmith, Okafor and Liang wrote the paper on sparse attention",
    "attention\nSparse attention lowers the cost of long sequences (Smith et al.)",
  ],
  [
    "learning rate\nlearning rate 3e-4 with cosine decay and 500 warmup steps",
    "warmup\nwarmup of 500 steps, then cosine decay of the learning rate",
  ],
  [
    "invoice\nInvoice 20417 over 1,250.00 EUR is due on 30 June",
    "20417\npayment for invoice 20417 was received on 2 July, overdue",
  ],
  [
    "physician\nThe physician prescribed rest and fluids",
    "doctor\nHer doctor told her to stay in bed and drink a lot",
  ],
  [
    "car crash\nTwo vehicles collided at the junction",
    "accident\nA road accident injured four people near the crossing",
  ],
];

const UNRELATED: readonly (readonly [string, string])[] = [
  [
    "error\nERROR 10:42:07 connection to db-3 timed out after 30 s",
    "revenue\nRevenue for fiscal 2023 was $4.2 billion, up 12 percent",
  ],
  [
    "error\nERROR 10:42:07 connection to db-3 timed out after 30 s",
    "error\nERROR 11:15:30 cannot open /etc/app.toml: permission denied",
  ],
  [
    "def parse_config\nconfig.py:12: def parse_config(path, strict=False):",
    "def render\nviews.py:204: def render(template, values=None):",
  ],
  [
    "class LRUCache\ncache.py:40: class LRUCache: evicts the oldest entry above capacity",
    "class Invoice\nbilling.py:11: class Invoice: a bill with its lines and taxes",
  ],
  [
    "termination\nSection 9.2 Either party may terminate this Agreement upon thirty days notice",
    "liability\nSection 12.1 The total liability of a party is limited to the fees paid",
  ],
  [
    "governing law\nThis Agreement is governed by the laws of Ontario",
    "payment\nThe Customer shall pay each invoice within forty-five days",
  ],
  [
    "dosage\nThe recommended dosage of ibuprofen is 400 mg every six hours",
    "storage\nStore the vaccine between 2 and 8 degrees and protect it from light",
  ],
  [
    "adverse\nAdverse events: nausea (12%), headache (9%), dizziness (4%)",
    "enrolment\nA total of 412 patients were enrolled at nine sites",
  ],
  [
    "'/workspace'\nsales_2021.csv, sales_2022.csv, sales_2023.csv, readme.txt",
    "'/workspace/figures'\nheatmap.png, scatter.png, histogram.svg",
  ],
  [
    "100\nChapter 1. It was a bright cold day in April",
    "100\n# Changelog. All notable changes are documented in this file",
  ],
  [
    "500\nimport os\nimport sys\nfrom pathlib import Path",
    "500\nregion,product,units,price\nNorth,Widget,14,3.99",
  ],
  [
    "whale\nCall me Ishmael. the white whale had taken his leg",
    "Elizabeth\nElizabeth refused Mr. Collins and Mrs. Bennet was furious",
  ],
  [
    "photosynthesis\nPhotosynthesis turns carbon dioxide and water into glucose in the chloroplast",
    "mitosis\nDuring mitosis the chromosomes line up along the middle of the cell",
  ],
  [
    "earthquake\nA magnitude 7.1 earthquake struck the coast at 04:16",
    "election\nThe election was held on the coast and in the capital on Sunday",
  ],
  [
    "password\nauth.py:77: raise LoginError('wrong password')",
    "color\ntheme.py:77: raise ThemeError('unknown color')",
  ],
  [
    "retry\nhttp_client.py:30 retries=3, backoff=2.0, retry on 502 and 503",
    "column\nframe.py:30 columns=3, index=False, sort by the first column",
  ],
  [
    "deadlock\nthread 7 waits for lock A held by thread 9, which waits for lock B: deadlock",
    "encoding\nthe file is not valid UTF-8 at byte 1024; fell back to latin-1",
  ],
  [
    "migration\n0042_add_user_email.sql: ALTER TABLE users ADD COLUMN email TEXT",
    "birds\nThe migration of arctic terns spans 70,000 km each year",
  ],
  [
    "temperature\nsensor 14 reported a temperature of 91 C at noon",
    "temperature\nsampling temperature 0.2 gives less varied answers of the model",
  ],
  [
    "TODO\nTODO: validate the checksum before unpacking the archive",
    "TODO\nTODO: translate the buttons of the settings page",
  ],
  [
    "learning rate\nlearning rate 3e-4 with cosine decay and 500 warmup steps",
    "interest rate\nThe central bank raised the interest rate to 4.5 percent",
  ],
  [
    "invoice\nInvoice 20417 over 1,250.00 EUR is due on 30 June",
    "warranty\nThe warranty ends two years after delivery of the goods",
  ],
  [
    "Summarise the causes of the outage\nThe outage was caused by an expired certificate on the gateway",
    "Summarise the main character\nThe main character is a retired teacher who lives by the sea",
  ],
  [
    "What is the capital requirement?\nBanks must hold a capital ratio of at least 8 percent",
    "What is the capital of Australia?\nThe capital of Australia is Canberra",
  ],
  [
    "list the authors\nSmith, Okafor and Liang wrote the paper on sparse attention",
    "list the ingredients\nflour, butter, sugar, two eggs and a pinch of salt",
  ],
  [
    "error\nno matches",
    "Widget\nNorth,Widget,14,3.99\nSouth,Widget,20,3.89 units and price by region",
  ],
  ["'db-3'\nno matches", "'checksum'\nno matches"],
  [
    "2023\n2023-01-04 started; 2023-01-09 stopped",
    "1066\nIn 1066 the Normans crossed the channel and won at Hastings",
  ],
  [
    "memory leak\nHeap grew from 200 MB to 3 GB within an hour: suspected memory leak in cache.py",
    "memory\nHer earliest memory was of the orchard behind the house",
  ],
  [
    "class\nThe class of 1998 met in the old gymnasium",
    "class\nbilling.py:11: class Invoice: a bill with its lines and taxes",
  ],
  [
    "bank\nThe bank of the river was steep and covered with reeds",
    "bank\nThe bank approved the loan at a fixed rate for ten years",
  ],
  [
    "python\nThe python swallowed the goat whole, the keeper said",
    "python\nRequires python 3.8 or newer; install it with your package manager",
  ],
];

/** Results as calls give them, half of them of one subject and half only looking alike. */
export const CALIBRATION_PAIRS: readonly CalibrationPair[] = [
  ...RELATED.map(([one, other]): CalibrationPair => [one, other, true]),
  ...UNRELATED.map(([one, other]): CalibrationPair => [one, other, false]),
];
