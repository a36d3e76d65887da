/** Text of files for terminals. @module */

/** What a file says may hold line breaks and commands to the terminal, which could show another finding. */
export const printable = (line: string): string => line.replaceAll(/\p{C}/gu, '\u{fffd}')
