/** Something that happens at a moment which requests reach only by chance. @module */

/** Runs something once, right before the next call of a service's method. */
export const precede = <K extends string>(
  service: { [name in K]: (...of: never[]) => unknown },
  name: K,
  act: () => Promise<unknown>,
): void => {
  const former = service[name]
  service[name] = async (...of) => {
    service[name] = former
    await act()
    return former(...of)
  }
}
