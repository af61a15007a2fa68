// Places in the program's code, as the terminal shows them.

/** @typedef {import('./answers').CodeFunction} CodeFunction */
/** @typedef {import('./answers').CallSiteRow} CallSiteRow */

/**
 * An address by the functions there, the innermost first; without names as it is.
 * @param {{file: string, offset: number, functions: CodeFunction[]}} place
 */
export function code({ file, offset, functions }) {
  const address = `${file}+0x${offset.toString(16)}`;
  const named = functions.filter((of) => of.function || of.line);
  return (
    named
      .map((of) => (of.function ? `${of.function} (${of.line || address})` : of.line))
      .join(' in ') || address
  );
}

/** Where a row's calls are made. @param {CallSiteRow} row */
export function place(row) {
  if (row.kind === 'nowhere') return 'code in no file';
  if (row.kind === 'others') return 'other sites';
  return row.kind === 'code' ? code(row) : 'not noted';
}
