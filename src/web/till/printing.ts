/** Paper gets what somebody asked to print, and nothing else that the page shows. @module */

/** The style of the till hides the rest of the page on paper. */
const MARK = 'data-on-paper'

const unmark = (): void => {
  for (const part of document.querySelectorAll(`[${MARK}]`)) part.removeAttribute(MARK)
}

/** Prints the part of the page (of class `printed`) that a button stands in. */
export const printAround = (button: Element): void => {
  unmark()
  button.closest('.printed')?.setAttribute(MARK, '')
  // Some browsers return from print() before they have printed.
  addEventListener('afterprint', unmark, { once: true })
  print()
}
