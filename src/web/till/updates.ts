/** The program that keeps this page on the device, and new versions of it. @module */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { allowedProgram } from '../programs.ts'
import { ACTIVATE, WORKER_PATH } from './worker-path.ts'

/** Starts the version that waits, if one does. */
export const update = signal<(() => void) | undefined>(undefined)

const offer = (waiting: ServiceWorker): void => {
  update.value = () => waiting.postMessage(ACTIVATE)
}

const register = async (): Promise<void> => {
  const { serviceWorker } = navigator
  if (serviceWorker === undefined) return
  const registration = await serviceWorker.register(allowedProgram(WORKER_PATH), {
    scope: '/terminal',
    updateViaCache: 'none',
  })
  const isFirst = serviceWorker.controller === null
  if (registration.waiting !== null && !isFirst) offer(registration.waiting)
  registration.addEventListener('updatefound', () => {
    const { installing } = registration
    installing?.addEventListener('statechange', () => {
      if (installing.state === 'installed' && serviceWorker.controller !== null) offer(installing)
    })
  })
  let reloading = isFirst
  serviceWorker.addEventListener('controllerchange', () => {
    // The first one takes over a page that is already as new as it is.
    if (!reloading) location.reload()
    reloading = false
  })
}

export const useUpdate = (): void =>
  useEffect(() => {
    // Without it the till works as long as the page stays open.
    register().catch(() => {})
  }, [])
