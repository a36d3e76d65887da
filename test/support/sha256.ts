/** SHA-256 as Node has it. */
import { hash } from 'node:crypto'

export const sha256 = (message: Uint8Array | string): Buffer => hash('sha256', message, 'buffer')
