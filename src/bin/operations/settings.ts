/** What this program is, and how it is set up. @module */
import type { ConfigFault } from '../../config/config-error.ts'
import { type EffectiveSetting, effectiveSettings } from '../../config/effective-settings.ts'
import { SERVICE_VERSION } from '../../domain/system/service.ts'
import { SCHEMA_VERSION } from '../../store/migrate.ts'

export const printVersion = (): void => {
  console.log(`assay ${SERVICE_VERSION}`)
  console.log(`schema ${SCHEMA_VERSION}`)
  console.log(`node ${process.version}`)
}

const asText = (settings: readonly EffectiveSetting[]): string =>
  settings
    .map(({ variable, value, isSet }) =>
      isSet ? `${variable}=${value}` : `# ${variable}: ${value || 'unset'}`,
    )
    .join('\n')

/** What is set stands as `NAME=value`; defaults are comments. */
export const printConfig = ({ json }: { readonly json?: true }): void => {
  const { settings, faults } = effectiveSettings(process.env)
  console.log(json ? JSON.stringify({ settings, faults }, null, 2) : asText(settings))
  const lines = faults.map(({ variable, rule }: ConfigFault) => `${variable} ${rule}`)
  for (const line of lines) console.error(line)
  if (faults.length > 0) process.exitCode = 1
}
