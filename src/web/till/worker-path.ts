/** What the page and its service worker agree on. @module */

export const WORKER_PATH = '/terminal/worker.js'

/** Tells a version that waits to take over. */
export const ACTIVATE = 'activate'
