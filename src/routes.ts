/** The table of contents: every domain's routes in one list. @module */
import { accountRoutes } from './domain/accounts/routes.ts'
import { keyRoutes } from './domain/accounts/routes-keys.ts'
import { paymentRoutes } from './domain/payments/routes.ts'
import { securityRoutes } from './domain/security/routes.ts'
import { systemRoutes } from './domain/system/routes.ts'
import { getJwks } from './domain/system/routes-jwks.ts'
import { terminalRoutes } from './domain/terminals/routes.ts'
import type { Route } from './http/route.ts'
import type { Services } from './services.ts'

export const routes: readonly Route<Services>[] = [
  ...systemRoutes,
  getJwks,
  ...accountRoutes,
  ...keyRoutes,
  ...terminalRoutes,
  ...securityRoutes,
  ...paymentRoutes,
]
