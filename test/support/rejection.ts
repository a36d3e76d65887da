/** What a promise fails with. @throws Error when it does not fail */
export const rejection = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof Error) return error
    throw new Error(`Not an Error: ${String(error)}`)
  }
  throw new Error('It did not fail.')
}
