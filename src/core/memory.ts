/**
 * Regions of a linear memory that grows: handed out, given back, joined and handed out again.
 * @module
 */

const PAGE_BYTES = 65_536
const LARGEST_BYTES = 65_536 * PAGE_BYTES

/** Growing has a fixed cost, so the memory grows by at least this part of itself unless room was reserved. */
const GROWTH_DIVISOR = 32

interface Region {
  address: number
  bytes: number
}

export interface Regions {
  /** A zeroed region. @throws RangeError when the memory can't grow that far (4 GiB, or what the device has) */
  take(bytes: number): number
  giveBack(address: number, bytes: number): void
  /** Grows the memory at once for regions of so many bytes together: taking these can't fail. @throws RangeError as {@link take} */
  reserve(bytes: number): void
}

/** @param base the first address that may be handed out; everything from there on is zero */
export const createRegions = (memory: WebAssembly.Memory, base: number): Regions => {
  /** By address; neighbours are always joined, and the last one never ends at `top`. */
  const free: Region[] = []
  let top = base
  /** Below it memory may have been written, above it all is zero still. */
  let touched = base

  const growTo = (end: number): void => {
    const pages = Math.ceil((end - memory.buffer.byteLength) / PAGE_BYTES)
    if (pages <= 0) return
    try {
      memory.grow(pages)
    } catch (cause) {
      throw new RangeError(`the memory can't grow to ${end} bytes`, { cause })
    }
  }

  /** Where to grow to when regions up to `end` are needed: never beyond the last page. */
  const spare = (end: number): number =>
    Math.min(end + Math.floor(memory.buffer.byteLength / GROWTH_DIVISOR), Math.max(end, LARGEST_BYTES))

  const zeroed = (address: number, bytes: number): number => {
    const dirty = Math.min(address + bytes, touched)
    if (dirty > address) new Uint8Array(memory.buffer, address, dirty - address).fill(0)
    touched = Math.max(touched, address + bytes)
    return address
  }

  return {
    take(bytes) {
      const found = free.findIndex((region) => region.bytes >= bytes)
      const region = free[found]
      if (region !== undefined) {
        const { address } = region
        region.address += bytes
        region.bytes -= bytes
        if (region.bytes === 0) free.splice(found, 1)
        return zeroed(address, bytes)
      }
      const end = top + bytes
      if (end > memory.buffer.byteLength) growTo(spare(end))
      top += bytes
      return zeroed(top - bytes, bytes)
    },

    reserve: (bytes) => growTo(top + bytes),

    giveBack(address, bytes) {
      const after = free.findIndex((region) => region.address > address)
      const at = after < 0 ? free.length : after
      free.splice(at, 0, { address, bytes })
      for (let i = Math.min(at + 1, free.length - 1); i >= Math.max(at, 1); i--) {
        const previous = free[i - 1]
        const region = free[i]
        if (previous && region && previous.address + previous.bytes === region.address) {
          previous.bytes += region.bytes
          free.splice(i, 1)
        }
      }
      const last = free.at(-1)
      if (last && last.address + last.bytes === top) {
        top = last.address
        free.pop()
      }
    },
  }
}
