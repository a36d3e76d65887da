/** The program that keeps this page on the device, and new versions of it. @module */
import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { allowedProgram } from '../programs.ts'
import { type Decision, deciding, decision, entering } from './till.ts'
import { ACTIVATE, WORKER_PATH } from './worker-path.ts'

/** The version that waits, if one does. */
export const update = signal<ServiceWorker | undefined>(undefined)

/** Whether somebody began the update here, and what was shown then: they have read it, and let go what they had typed. */
let isBegunHere = false
let read: Decision | undefined

/** Starts the version that waits, in all windows. */
export const beginUpdate = (): void => {
  isBegunHere = true
  read = decision.value
  update.value?.postMessage(ACTIVATE)
}

/** Offers a version once it waits. The first one takes over without being asked. */
const watch = (worker: ServiceWorker | null): void => {
  const look = (): void => {
    if (worker?.state === 'installed' && navigator.serviceWorker.controller !== null) update.value = worker
  }
  look()
  worker?.addEventListener('statechange', look)
}

/**
 * Loads the page again, once no payment is being typed or decided in it and nobody has to read what became of one: another window may
 * have begun the update.
 */
const reload = (): void => {
  update.value = undefined
  effect(() => {
    const shown = decision.value?.result
    const isTyped = entering.value && !isBegunHere
    if (!isTyped && !deciding.value && (shown === undefined || shown === read?.result)) location.reload()
  })
}

const register = async (): Promise<void> => {
  const { serviceWorker } = navigator
  if (serviceWorker === undefined) return
  const registration = await serviceWorker.register(allowedProgram(WORKER_PATH), {
    scope: '/terminal',
    updateViaCache: 'none',
  })
  // Its installing may have begun before anybody listened.
  watch(registration.installing)
  watch(registration.waiting)
  registration.addEventListener('updatefound', () => watch(registration.installing))
  // The first one takes over a page that is already as new as it is.
  let isFirst = serviceWorker.controller === null
  serviceWorker.addEventListener('controllerchange', () => {
    if (!isFirst) reload()
    isFirst = false
  })
}

export const useUpdate = (): void =>
  useEffect(() => {
    // Without it the till works as long as the page stays open.
    register().catch(() => {})
  }, [])
