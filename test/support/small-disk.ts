/** A file system so small that a test can fill it, and questions to a server that keeps its data there. */
import { execFileSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** @param size as mount takes it @returns whether a file system could be mounted there (Linux, root) */
export const mountSmallDisk = (folder: string, size: string): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Puts an empty file system that takes no writes over a folder, as one that was remounted read only. */
export const mountReadOnly = (folder: string): void => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=64m', 'tmpfs', folder])
}

/** What the file system of {@link mountThinDisk} really has, in the folder that is beneath it. */
const THIN_BYTES = '8m'
const THIN_PROMISED_BYTES = 64 * 1024 * 1024

/**
 * A file system that says to have 64 MiB and has 8: what is written beyond those is taken, and fails when it is synced.
 * @param below an empty folder for what it is made of; who fills that has filled the disk
 * @returns whether it could be mounted (Linux, root, loop devices)
 */
export const mountThinDisk = (folder: string, below: string): boolean => {
  if (!mountSmallDisk(below, THIN_BYTES)) return false
  const image = join(below, 'image')
  try {
    writeFileSync(image, '')
    truncateSync(image, THIN_PROMISED_BYTES)
    execFileSync('mkfs', ['-t', 'ext4', '-q', '-m', '0', image], { stdio: 'ignore' })
    execFileSync('mount', ['-o', 'loop', image, folder], { stdio: 'ignore' })
    return true
  } catch {
    unmountSmallDisk(below)
    return false
  }
}

export const unmountSmallDisk = (folder: string): void => {
  execFileSync('umount', ['-l', folder])
}

/** @returns a function that asks the server as the holder of a key */
export const asking =
  (key: string, url: () => string | undefined) => async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url()}${path}`, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
