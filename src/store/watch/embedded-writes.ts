/**
 * Has the embedded database itself refuse what would be written while its disk takes no writes: questions write, too, and so does what
 * works on its own, and it can't go on once it could not write.
 * @module
 */
import type { Database } from '../database.ts'

const RETRY_MS = 1000

export interface EmbeddedWrites {
  /**
   * Says whether writes are to be refused. Returns at once.
   * @param written what may still be written before that; must not reject
   */
  refuse(isRefused: boolean, written?: Promise<void>): void
  /** To be called once all is built: until then nothing is refused, since every start writes a little. */
  begin(): void
  /** Resolves when the database is told nothing more. */
  close(): Promise<void>
}

/** @param onFailure called when the database could not be told, which is tried again after a second; must not throw */
export const createEmbeddedWrites = (
  { setReadOnly, rest }: Pick<Database, 'setReadOnly' | 'rest'>,
  onFailure: (error: unknown) => void,
): EmbeddedWrites => {
  let hasBegun = false
  let isClosed = false
  let said: { readonly isRefused: boolean; readonly written?: Promise<void> } = { isRefused: false }
  let told: Promise<void> = Promise.resolve()
  let retry: NodeJS.Timeout | undefined
  const tell = (): void => {
    if (!hasBegun || isClosed || setReadOnly === undefined) return
    clearTimeout(retry)
    told = told.then(async () => {
      const telling = said
      await telling.written
      await setReadOnly(telling.isRefused).catch((error: unknown) => {
        onFailure(error)
        // What was said since is told next.
        if (said === telling && !isClosed) retry = setTimeout(tell, RETRY_MS).unref()
      })
    })
  }
  return {
    refuse(isRefused, written) {
      said = { isRefused, written }
      rest?.(isRefused)
      tell()
    },
    begin() {
      hasBegun = true
      if (said.isRefused) tell()
    },
    close() {
      isClosed = true
      clearTimeout(retry)
      return told
    },
  }
}
