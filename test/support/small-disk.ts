/** A file system so small that a test can fill it, and questions to a server that keeps its data there. */
import { execFileSync } from 'node:child_process'

/** @param size as mount takes it @returns whether a file system could be mounted there (Linux, root) */
export const mountSmallDisk = (folder: string, size: string): boolean => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
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
