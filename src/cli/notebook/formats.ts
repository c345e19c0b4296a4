/** What a notebook can be exported as. */
export const FORMATS = ["ipynb", "html"] as const;
