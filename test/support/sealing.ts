/** What a running app seals with, opened a second time. @module */
import { openSealing } from '../../src/keys/data-keys.ts'
import type { Sealing } from '../../src/keys/sealing.ts'
import type { TestApp } from './app.ts'

export const sealingOf = async ({
  services,
  config,
}: Pick<TestApp, 'services' | 'config'>): Promise<Sealing> => {
  const { sealing, close } = await openSealing(services.database, config.masterKey)
  close()
  return sealing
}
