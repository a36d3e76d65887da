/** Values that leave this process for a cache: sealed, since a cache may be read and written by others. @module */
import { deserialize, serialize } from 'node:v8'
import type { Codec, Timed } from '../store/shared-values.ts'
import type { Sealing } from './sealing.ts'

const PURPOSE = 'shared-value'

/**
 * Structured clones (bytes, null and undefined come back as they were), sealed for their memory and key: nobody
 * reads an HMAC state in the cache, gives himself another scope, or puts one key's value in the place of another's.
 */
export const createSealedValues = (sealing: Sealing): Codec => {
  const place = (memory: string, key: string) => ({ table: memory, column: 'value', row: key })
  return {
    encode: (memory, key, value) => sealing.seal(PURPOSE, place(memory, key), serialize(value)),
    // The type is the writer's: only what `encode` sealed for this memory opens.
    decode: <V>(memory: string, key: string, bytes: Uint8Array) =>
      deserialize(sealing.open(PURPOSE, place(memory, key), bytes)) as Timed<V>,
  }
}
