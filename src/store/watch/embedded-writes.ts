/**
 * Has the embedded database itself refuse what would be written while its disk takes no writes: questions write, too, and so does what
 * works on its own, and it can't go on once it could not write.
 * @module
 */
import type { Database } from '../database.ts'

export interface EmbeddedWrites {
  /**
   * Says whether writes are to be refused. Returns at once.
   * @param written what may still be written before that; must not reject
   */
  refuse(isRefused: boolean, written?: Promise<void>): void
  /** To be called once all is built: until then nothing is refused, since every start writes a little. */
  begin(): void
  /** Resolves when the database knows what was said last. */
  settled(): Promise<void>
}

/** @param onFailure called when the database could not be told, which must not throw */
export const createEmbeddedWrites = (
  { setReadOnly }: Pick<Database, 'setReadOnly'>,
  onFailure: (error: unknown) => void,
): EmbeddedWrites => {
  let hasBegun = false
  let said: { readonly isRefused: boolean; readonly written?: Promise<void> } = { isRefused: false }
  let told: Promise<void> = Promise.resolve()
  const tell = (): void => {
    if (!hasBegun || setReadOnly === undefined) return
    told = told
      .then(async () => {
        const { isRefused, written } = said
        await written
        await setReadOnly(isRefused)
      })
      .catch(onFailure)
  }
  return {
    refuse(isRefused, written) {
      said = { isRefused, written }
      tell()
    },
    begin() {
      hasBegun = true
      if (said.isRefused) tell()
    },
    settled: () => told,
  }
}
